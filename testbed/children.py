"""Child processes that end with their parent, their memory, and addresses and ports of their own. Linux only."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)
#: Where processes begin to look for ports: hundreds apart if their numbers are close, so that none finds the same ones.
_offsets = count(os.getpid() * 7417)


def start_child(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a process in its own session (Ctrl-C does not reach it); the kernel kills it if this one dies.

    ``options`` go to ``subprocess.Popen``. Start it from the main thread: the kernel kills it when that *thread* ends.
    """
    return subprocess.Popen(command, start_new_session=True, preexec_fn=_die_with_parent, **options)


def _die_with_parent() -> None:
    """In the child: receive SIGKILL when the parent ends."""
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def memory(name: str = "VmRSS") -> float:
    """Memory of this process in MB; ``VmHWM``: the most so far (``ru_maxrss`` may be that of the parent)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition(f"{name}:")[2].split()[0]) / 1024


def own_address() -> str:
    """A loopback address of this process alone.

    A port chosen by the kernel on 127.0.0.1 may be lost while its server is down: to another server, or to a client
    that reconnects and receives that very port as its own. On this address the port stays free.
    """
    pid = os.getpid()
    return f"127.5.{pid >> 8 & 255}.{pid & 255}"


def free_port(address: str = "127.0.0.1") -> int:
    """A port for a server on ``address``, another one in each call.

    The kernel gives ports from 32,768 on to connections, and one of these could be lost before the server starts.
    Those from 10,000 to 22,000 are free, and so are those of the bus of a Redis Cluster, 10,000 higher.
    """
    while True:
        port = 10_000 + next(_offsets) % 12_000
        with socket.socket() as probe:
            try:
                probe.bind((address, port))
            except OSError:
                continue
        return port
