"""What ``-a seeds=...`` may be, and what is said to anything else."""

import io
import os
import re
from pathlib import Path

import pytest

from crawlproject.spiders.seed_list import SeedFile, seed_lines


@pytest.mark.parametrize(
    "seeds",
    [
        "http://example.org/",
        "https://intranet/a,b.example/c",
        "example.org",
        "example.org/docs?q=1",
        "www.example.co.uk:8080/x, example.org",
        "localhost:8080",
        "127.0.0.1:8080/x",
        "[::1]:8080",
        "example.invalid",
        "//example.org/x",
        "münchen.de",
    ],
)
def test_urls_and_hosts(seeds: str) -> None:
    """With a scheme, or a host as the Internet has them."""
    assert list(seed_lines(seeds)) == [entry.strip() for entry in seeds.split(",")]


@pytest.mark.parametrize(
    "seeds",
    [
        "seeds.txt",
        "seeds.csv",
        "seeds",
        "./seeds.com",
        "../seeds.org",
        "/tmp/no/such/seeds.org",
        "~/seeds.org",
        "lists/seeds.org",
        "user@seeds.txt",
        "x" * 5000,
        "a\0b",
    ],
)
def test_what_is_no_file_is_not_made_a_url(seeds: str) -> None:
    """In one short line that says how a URL begins."""
    with pytest.raises(ValueError, match="no such file; a URL begins with http:// or https://") as error:
        seed_lines(seeds)
    assert str(error.value).startswith(f"seeds={seeds!r:.200}")
    assert len(str(error.value)) < 300
    assert "\n" not in str(error.value)


def test_file_of_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that is named like a host, or as standard input."""
    lines = ["# mine", "http://example.org/ 0.5", "example"]
    for name in ("seeds.txt", "example.org"):
        (tmp_path / name).write_text("\n".join(lines))
        assert list(seed_lines(str(tmp_path / name))) == lines
    monkeypatch.chdir(tmp_path)
    assert list(seed_lines("example.org")) == lines
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    assert list(seed_lines("-")) == lines


@pytest.mark.parametrize("content", [b"http://a.example/ 0.5\r\n\xff\rb\xe2\x80\xa8c\n\n", b"d"])
def test_lines_of_a_file_are_those_of_its_text(content: bytes, tmp_path: Path) -> None:
    """Although it is not read at once, and from a pipe as well."""
    path = tmp_path / "seeds"
    path.write_bytes(content)
    assert list(SeedFile(path)) == content.decode(errors="replace").splitlines()
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    lines = SeedFile(Path("/dev/fd", str(reading)))
    os.close(reading)
    assert list(lines) == list(lines) == list(SeedFile(path))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "there is no URL in it"),
        (b"# nothing\n\n", "there is no URL in it"),
        (b"ftp://x/\n\x89PNG\0", "there is no URL in it (line 1, 'ftp://x/': not an http or https URL)"),
    ],
)
def test_file_without_a_url(tmp_path: Path, content: bytes, told: str) -> None:
    """With the first line that is wrong."""
    path = tmp_path / "seeds.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(f"seeds={str(path)!r}: {told}")):
        seed_lines(str(path))
