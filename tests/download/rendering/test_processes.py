"""The processes of a browser, which a program in Python stands for."""

import subprocess
import sys
from pathlib import Path

import pytest

from crawlproject.download.rendering.processes import BrowserProcesses

MARK = "--proxy-server=http://127.0.0.1:1"
#: Tells its process id, and whether it still runs when its input ends.
BROWSER = "import os, sys; print(os.getpid(), flush=True); sys.stdin.read(); print('left')"
#: As Debian's ``/usr/bin/chromium-headless-shell``, which waits for the browser.
SCRIPT = '#!/bin/sh -e\n"{python}" -c "{browser}" "$@"\n'


@pytest.mark.parametrize("by_script", [False, True])
def test_browser_that_a_script_has_started_is_measured_and_ended(tmp_path: Path, *, by_script: bool) -> None:
    """As one that was started by itself."""
    command = [sys.executable, "-c", BROWSER]
    if by_script:
        script = tmp_path / "browser"
        script.write_text(SCRIPT.format(python=sys.executable, browser=BROWSER))
        command = ["/bin/sh", "-e", str(script)]
    with subprocess.Popen([*command, MARK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        browser = int(started.stdout.readline())
        processes = BrowserProcesses(MARK)
        assert browser in [each.pid for each in processes.all()]
        assert not processes.limit(1 << 40)
        assert processes.limit(1000)  # no page of it is found
        processes.end()
        assert started.communicate()[0] == ""
    assert BrowserProcesses(MARK).all() == []
