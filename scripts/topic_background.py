"""Makes the tables of document frequencies that `scrapy crawl topic` weights words by.

python scripts/topic_background.py --dir DIR      # downloads the packages below into DIR, writes both tables

Documents are the HTML pages of Debian packages of documentation, and the quotations of the fortune packages. Terms in
fewer than MIN_DOCUMENTS of them are left out. The same versions of the packages give the same bytes.
"""

import argparse
import gzip
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawlproject.content.relevance.words import terms_of
from crawlproject.urls.extract import extract
from testbed.real_web.packages import download, unpack
from testbed.real_web.web import is_html

#: Package -> what the paths of its documents of the language have in common. Licences: docs/topic.md.
PACKAGES = {
    "en": {
        "apache2-doc": r"\.html(\.en)?$",
        "debian-handbook": "/en-US/",
        "debian-reference-en": r"\.en\.html$",
        "developers-reference": r"/developers-reference/[^/]+\.html$",
        "installation-guide-amd64": "/en/",
        "libreoffice-help-en-us": "/en-US/",
        "fortunes": "/fortunes/[a-z-]+$",
        "fortunes-min": "/fortunes/[a-z-]+$",
    },
    "zh": {
        "debian-faq-zh-cn": r"\.zh-cn\.html$",
        "debian-handbook": "/zh-(CN|TW)/",
        "debian-reference-zh-cn": r"\.zh-cn\.html$",
        "gimp-help-zh-cn": "/zh_CN/",
        "libreoffice-help-zh-cn": "/zh-CN/",
        "maint-guide-zh-cn": r"\.zh-cn\.html$",
        "fortunes-zh": "/fortunes/[a-z0-9-]+$",
    },
}
MIN_DOCUMENTS = 4
MAX_TERMS = 25_000
TABLES = Path(__file__).resolve().parents[1] / "crawlproject" / "content" / "relevance"


def documents(root: Path, paths: list[str], pattern: str) -> Iterator[str]:
    """The texts of the documents among the files of a package."""
    for path in sorted(paths):
        file = root / path.lstrip("/")
        if not re.search(pattern, path) or file.is_symlink() or not file.is_file():
            continue
        if is_html(path) or path.endswith(".html.en"):
            page = extract(file.read_bytes(), "http://example.org/", with_text=True)
            yield f"{page.title or ''} {page.text or ''}"
        else:
            yield from file.read_text(encoding="utf-8", errors="replace").split("\n%\n")


def table(root: Path, shipped: dict[str, list[str]], language: str) -> bytes:
    """The table of a language."""
    found: Counter[str] = Counter()
    total = 0
    for package, pattern in PACKAGES[language].items():
        before = total
        for text in documents(root, shipped[package], pattern):
            found.update(set(terms_of(text, "en")))
            total += 1
        print(f"{language}: {package}: {total - before} documents")
    frequent = [(term, count) for term, count in found.items() if count >= MIN_DOCUMENTS]
    kept = sorted(frequent, key=lambda item: (-item[1], item[0]))[:MAX_TERMS]
    lines = "".join(f"{term}\t{count}\n" for term, count in [("", total), *kept])
    return gzip.compress(lines.encode(), mtime=0)


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the tables of document frequencies.")
    parser.add_argument("--dir", required=True, type=Path, help="a new folder for the packages")
    parser.add_argument("--out", type=Path, default=TABLES, help="the folder of the tables")
    options = parser.parse_args()
    names = sorted({name for packages in PACKAGES.values() for name in packages})
    folder = options.dir.resolve()
    shipped = unpack(download(names, folder / "debs"), folder / "root")
    for language in PACKAGES:
        data = table(folder / "root", shipped, language)
        file = options.out / f"documents.{language}.tsv.gz"
        file.write_bytes(data)
        print(f"{file}: {len(data):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
