"""Child processes that end with their parent, and addresses that no other process uses. Linux only."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


def start_child(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a process in its own session (Ctrl-C does not reach it); the kernel kills it if this one dies.

    ``options`` go to ``subprocess.Popen``. Start it from the main thread: the kernel kills it when that *thread* ends.
    """
    return subprocess.Popen(command, start_new_session=True, preexec_fn=_die_with_parent, **options)


def _die_with_parent() -> None:
    """In the child: receive SIGKILL when the parent ends."""
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def own_address() -> str:
    """A loopback address of this process alone.

    A port chosen by the kernel on 127.0.0.1 may be lost while its server is down: to another server, or to a client
    that reconnects and receives that very port as its own. On this address the port stays free.
    """
    pid = os.getpid()
    return f"127.5.{pid >> 8 & 255}.{pid & 255}"
