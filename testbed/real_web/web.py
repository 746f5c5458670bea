"""The model of a real web that is set up: directory, port and hosts."""

import json
import os
import posixpath
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

# Characters that browsers do not encode, besides letters, digits and _.-~ (a path's ? and % are encoded: see encode)
URL_SAFE = "/!$%&'()*+,:;=@[]|"
HTML_SUFFIXES = (".html", ".htm", ".shtml")  # nginx's mime.types sends these, in any case, as text/html
INDEX_NAMES = ("index.html", "index.htm")  # in the order in which nginx tries them


class RealWebError(Exception):
    """A step of the set-up or of the server failed; the message has step and reason."""


@dataclass(frozen=True, slots=True)
class Host:
    """One package served as one host: its loopback address, the paths it owns and its start page."""

    package: str
    address: str
    docroots: tuple[str, ...]
    index: str


@dataclass(frozen=True, slots=True)
class RealWeb:
    """The hosts served from one directory, which contains the files (``root/``) and nginx's configuration and logs."""

    directory: Path
    port: int
    hosts: tuple[Host, ...]

    @property
    def root(self) -> Path:
        """The directory of the unpacked packages; a URL's path is a path below it."""
        return self.directory / "root"

    @property
    def access_log(self) -> Path:
        """One line per request, tab-separated; emptied by every start."""
        return self.directory / "logs" / "access.tsv"

    @property
    def seeds(self) -> list[str]:
        """The start page of each host."""
        return [self.url(host.address, host.index) for host in self.hosts]

    def url(self, address: str, path: str, query: str = "") -> str:
        """The URL of a decoded path on a host."""
        return f"http://{address}:{self.port}{encode(path)}" + (f"?{query}" if query else "")

    def owner(self, path: str) -> Host | None:
        """The host whose docroot contains this path, or None."""
        ancestors = {path, *(path[:end] for end, char in enumerate(path) if char == "/")}
        return next((host for host in self.hosts if not ancestors.isdisjoint(host.docroots)), None)

    def save(self) -> None:
        """Write ``web.json`` (read by :func:`load`) and ``seeds.txt``."""
        web = {"port": self.port, "hosts": [asdict(host) for host in self.hosts]}
        (self.directory / "web.json").write_text(json.dumps(web, indent=1) + "\n")
        (self.directory / "seeds.txt").write_text("".join(f"{seed}\n" for seed in self.seeds))


def load(directory: Path | str) -> RealWeb:
    """The web that ``setup`` created in this directory."""
    directory = Path(directory).resolve()
    try:
        web = json.loads((directory / "web.json").read_text())
    except FileNotFoundError:
        raise RealWebError(f"no real web is set up in {directory}") from None
    hosts = tuple(Host(**{**host, "docroots": tuple(host["docroots"])}) for host in web["hosts"])
    return RealWeb(directory, web["port"], hosts)


def encode(path: str) -> str:
    """Percent-encode a decoded path like a browser; the inverse is ``os.fsdecode(unquote_to_bytes(path))``."""
    return quote(os.fsencode(path.replace("%", "%25")), safe=URL_SAFE)


def is_html(path: str) -> bool:
    """Whether nginx sends this path as text/html."""
    return posixpath.splitext(path.lower())[1] in HTML_SUFFIXES
