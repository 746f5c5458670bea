"""Sets up a real web: downloads Debian documentation packages, unpacks them into one tree, assigns paths to hosts."""

import gzip
import os
import posixpath
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from testbed.real_web.nginx import write_config
from testbed.real_web.web import INDEX_NAMES, Host, RealWeb, RealWebError, is_html

# On Debian 12: 80 MB to download, 17,000 HTML files, 13,900 of them reachable from the start pages. Some packages link
# to pages of others, so that hosts link to each other.
DEFAULT_PACKAGES = (
    "apache2-doc",
    "aptitude-doc-en",
    "bash-doc",
    "cmake-doc",
    "debian-faq",
    "debian-policy",
    "developers-reference",
    "docbook-xsl-doc-html",
    "evolution-data-server-doc",
    "exim4-doc-html",
    "git-doc",
    "libgeos-doc",
    "libglib2.0-doc",
    "libgtk-3-doc",
    "libvirt-doc",
    "libxml2-doc",
    "nodejs-doc",
    "octave-doc",
    "openvswitch-doc",
    "postfix-doc",
    "postgresql-doc-15",
    "python-django-doc",
    "python-sqlalchemy-doc",
    "python3.11-doc",
    "sphinx-doc",
    "sqlite3-doc",
    "swi-prolog-doc",
    "tomcat10-docs",
    "varnish-doc",
    "vim-doc",
    "xen-doc",
    "zsh-doc",
)
SMALL_PACKAGES = ("diffutils-doc", "libatk1.0-doc", "libgssdp-doc")  # 250 kB, for tests
# Directories shared by packages: never owned by one, even if only one of the chosen packages has files there.
MEETING_PLACES = ("/", "/usr", "/usr/share", "/usr/share/doc", "/usr/share/gtk-doc", "/usr/share/gtk-doc/html")


def setup(directory: Path | str, packages: Sequence[str] = DEFAULT_PACKAGES, port: int = 8080) -> RealWeb:
    """Download and unpack the packages into a new directory and write all that ``start`` needs.

    Nothing is installed: the packages' files are below ``root/`` in the directory.
    """
    directory = Path(directory).resolve()
    if (directory / "web.json").exists():
        raise RealWebError(f"{directory} is already set up; remove it first")
    shipped = unpack(download(packages, directory / "debs"), directory / "root")
    shutil.rmtree(directory / "debs")
    docroots = find_docroots(shipped, directory / "root")
    hosts = tuple(
        Host(package, f"127.2.0.{number}", docroots[package], find_index(package, paths))
        for number, (package, paths) in enumerate(shipped.items(), start=1)
    )
    web = RealWeb(directory, port, hosts)
    write_config(web)
    web.save()
    return web


def download(packages: Sequence[str], directory: Path) -> dict[str, Path]:
    """``apt-get download`` into the directory; returns the file of each package."""
    directory.mkdir(parents=True, exist_ok=True)
    run(["apt-get", "--quiet", "download", *packages], cwd=directory)
    return {package: next(directory.glob(f"{package}_*.deb")) for package in packages}


def unpack(debs: Mapping[str, Path], root: Path) -> dict[str, list[str]]:
    """Extract every package into one tree; returns the absolute paths of the files and links of each."""
    root.mkdir(exist_ok=True)
    shipped = {}
    for package, deb in debs.items():
        listing = run(["dpkg-deb", "--vextract", str(deb), str(root)], cwd=root)
        paths = [line.removeprefix(".") for line in listing.splitlines() if not line.endswith("/")]
        confine_links(paths, root)
        shipped[package] = paths + decompress(paths, root)
    return shipped


def confine_links(paths: Iterable[str], root: Path) -> None:
    """Redirect symlinks that point out of the tree, such as absolute ones, to the same path inside it."""
    for path in paths:
        link = root / path.lstrip("/")
        if not link.is_symlink():
            continue
        target = os.path.normpath(link.parent / link.readlink())
        if not Path(target).is_relative_to(root):
            inside = posixpath.normpath(posixpath.join(posixpath.dirname(path), link.readlink()))
            link.unlink()
            link.symlink_to(os.path.relpath(root / inside.lstrip("/"), link.parent))


def decompress(paths: Iterable[str], root: Path) -> list[str]:
    """Write ``x.html`` beside every ``x.html.gz``: pages link to the plain name. Returns the new paths."""
    new = [path.removesuffix(".gz") for path in paths if path.endswith(".gz") and is_html(path.removesuffix(".gz"))]
    for path in new:
        plain = root / path.lstrip("/")
        with gzip.open(f"{plain}.gz") as packed, plain.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked)
    return new


def find_docroots(shipped: Mapping[str, Sequence[str]], root: Path) -> dict[str, tuple[str, ...]]:
    """The paths each package owns: the topmost directories with pages in which no other package has a file.

    A symlink in a shared directory is owned by the package that ships it, together with its target.
    """
    users = defaultdict(set)
    for package, paths in shipped.items():
        for path in paths:
            for place in lineage(path):
                users[place].add(package)
    docroots = {}
    for package, paths in shipped.items():
        pages = [path for path in paths if is_html(path) or (root / path.lstrip("/")).is_symlink()]
        docroots[package] = tuple(
            sorted({next((place for place in lineage(path) if len(users[place]) == 1), path) for path in pages})
        )
    return docroots


def lineage(path: str) -> list[str]:
    """The path and its parent directories, topmost first, without shared directories."""
    ends = [end for end, char in enumerate(path) if char == "/" and end] + [len(path)]
    return [path[:end] for end in ends if path[:end] not in MEETING_PLACES]


def find_index(package: str, paths: Iterable[str]) -> str:
    """The start page of a package: the index page with the most pages below its directory, topmost first."""
    pages = [path for path in paths if is_html(path)]
    below: dict[str, int] = defaultdict(int)
    for page in pages:
        for place in lineage(page)[:-1]:
            below[place] += 1
    candidates = [page for page in pages if posixpath.basename(page) in INDEX_NAMES] or pages
    if not candidates:
        raise RealWebError(f"{package} has no HTML pages")
    return min(candidates, key=lambda page: (-below[posixpath.dirname(page)], page.count("/"), page))


def run(command: Sequence[str], cwd: Path) -> str:
    """The output of a command; on failure, raises RealWebError with the end of its error output."""
    environment = os.environ | {"LC_ALL": "C.UTF-8", "TAR_OPTIONS": "--quoting-style=literal"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RealWebError(f"{command[0]} failed: {done.stderr.strip()[-1000:]}")
    return done.stdout
