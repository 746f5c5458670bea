"""Serves a real web with nginx: one worker, one server per host, all files in the web's directory."""

import grp
import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from testbed.real_web.web import Host, RealWeb, RealWebError, encode, load

PATIENCE = 10.0  # how long nginx may take to start or to stop
ACCESS_FIELDS = (
    "msec",
    "request_time",
    "server_addr",
    "request_uri",
    "status",
    "bytes_sent",
    "connection",
    "connection_requests",
)
CONFIG = """\
{user}worker_processes 1;
pid nginx.pid;
error_log logs/error.log warn;
events {{ worker_connections 1024; }}
http {{
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    client_body_temp_path tmp/body;
    proxy_temp_path tmp/proxy;
    fastcgi_temp_path tmp/fastcgi;
    uwsgi_temp_path tmp/uwsgi;
    scgi_temp_path tmp/scgi;
    log_format fields "{log_fields}";
    access_log logs/access.tsv fields;
    log_not_found off;
    keepalive_requests 100;
    sendfile on;
    index index.html index.htm;
    error_page 403 = @missing;  # a directory without an index page is missing, not forbidden
{servers}}}
"""
SERVER = """\
    server {{
        listen {address}:{port};
        server_name {address};
        root root;
        location @missing {{ return 404; }}
        location = / {{ return 301 "{index}"; }}
{foreign}    }}
"""
FOREIGN = """\
        location = "{path}" {{ return 301 http://{address}:{port}$request_uri; }}
        location ^~ "{path}/" {{ return 301 http://{address}:{port}$request_uri; }}
"""


@contextmanager
def running_real_web(directory: Path | str) -> Iterator[RealWeb]:
    """Serve the web set up in this directory for the length of a ``with`` block."""
    web = start(directory)
    try:
        yield web
    finally:
        stop(directory)


def start(directory: Path | str, port: int | None = None) -> RealWeb:
    """Start nginx in the background with new logs; with a port, move the web to that port first (also its seeds)."""
    web = load(directory)
    if is_running(directory):
        raise RealWebError(f"the web in {web.directory} is already running")
    if port is not None and port != web.port:
        web = replace(web, port=port)
        write_config(web)
        web.save()
    shutil.rmtree(web.directory / "logs", ignore_errors=True)
    for name in ("logs", "tmp"):
        (web.directory / name).mkdir(exist_ok=True)
    command = [nginx_program(), "-p", str(web.directory), "-c", "nginx.conf"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RealWebError(f"nginx did not start: {done.stderr.strip()}")
    wait_until(lambda: is_running(directory), "nginx wrote no pid file")
    return web


def stop(directory: Path | str) -> None:
    """Stop the nginx of this directory, if it runs, and wait until it has ended."""
    directory = Path(directory).resolve()
    pid = running_pid(directory)
    if pid is None:
        return
    os.kill(pid, signal.SIGTERM)
    # wait for the process, not for its pid file, which it deletes before it ends
    wait_until(lambda: not is_nginx_of(directory, pid), f"nginx (process {pid}) does not stop")


def remove(directory: Path | str) -> None:
    """Stop the web of this directory and delete the directory."""
    web = load(directory)
    stop(directory)
    shutil.rmtree(web.directory)


def is_running(directory: Path | str) -> bool:
    """Whether the nginx of this directory is running."""
    return running_pid(Path(directory).resolve()) is not None


def running_pid(directory: Path) -> int | None:
    """The PID in the pid file, or None if that process has ended or the PID belongs to another program."""
    try:
        pid = int((directory / "nginx.pid").read_text())
    except (FileNotFoundError, ValueError):
        return None
    return pid if is_nginx_of(directory, pid) else None


def is_nginx_of(directory: Path, pid: int) -> bool:
    """Whether the process ``pid`` is the nginx of this directory."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_text()  # empty for a zombie
    except (FileNotFoundError, ProcessLookupError):
        return False
    return f"-p {directory} " in command.replace("\0", " ")


def wait_until(is_so: Callable[[], bool], complaint: str) -> None:
    """Wait for nginx to start or to stop; both take milliseconds."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > deadline:
            raise RealWebError(complaint)
        time.sleep(0.01)


def nginx_program() -> str:
    """The path of nginx, which may be in a directory that is only in root's PATH."""
    program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if program is None:
        raise RealWebError("nginx is not installed")
    return program


def write_config(web: RealWeb) -> None:
    """Write ``nginx.conf`` into the web's directory."""
    config = CONFIG.format(
        user=user_directive(),
        log_fields="\\t".join(f"${field}" for field in ACCESS_FIELDS),
        servers="".join(server_block(web, host) for host in web.hosts),
    )
    (web.directory / "nginx.conf").write_text(config)


def user_directive() -> str:
    """Started by root, workers would run as nobody, who cannot read root's directories; other users cannot set it."""
    if os.geteuid() != 0:
        return ""
    return f"user {pwd.getpwuid(os.geteuid()).pw_name} {grp.getgrgid(os.getegid()).gr_name};\n"


def server_block(web: RealWeb, host: Host) -> str:
    """The configuration of one host: it serves all paths except those that another host owns."""
    foreign = "".join(
        FOREIGN.format(path=docroot, address=other.address, port=web.port)
        for other in web.hosts
        if other is not host
        for docroot in other.docroots
    )
    return SERVER.format(address=host.address, port=web.port, index=encode(host.index), foreign=foreign)
