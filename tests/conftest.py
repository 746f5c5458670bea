"""What tests of several folders share."""

import shutil
import socket

import pytest

from scripts.realweb import SMALL_PACKAGES, RealWebError, setup
from scripts.realweb.web import RealWeb


def free_port() -> int:
    """A port that nothing uses."""
    with socket.socket() as listener:
        listener.bind(("127.2.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture(scope="session")
def small_web(tmp_path_factory: pytest.TempPathFactory) -> RealWeb:
    """The small set, set up and not started."""
    for program in ("nginx", "apt-get", "dpkg-deb"):
        if shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin") is None:
            pytest.skip(f"{program} is not installed")
    try:
        return setup(tmp_path_factory.mktemp("realweb") / "web", SMALL_PACKAGES, free_port())
    except RealWebError as error:
        if str(error).startswith("apt-get"):
            pytest.skip(f"the documentation packages cannot be downloaded: {error}")
        raise
