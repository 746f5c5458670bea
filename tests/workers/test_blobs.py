"""The formats: everything comes back; damaged, newer or harmful data raises BlobError; small sizes."""

from __future__ import annotations

import random
from contextlib import suppress
from zlib import crc32

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.frontier.entry import Entry
from crawlproject.frontier.queues.sort_key import encode_row, encode_sort_key
from crawlproject.seen.fingerprint import key_bytes
from crawlproject.workers import blobs
from crawlproject.workers.blobs import (
    MAX_URL,
    BlobError,
    Tables,
    decode_journal,
    decode_message,
    decode_rows,
    decode_seen,
    encode_journal,
    encode_message,
    encode_rows,
    encode_seen,
)
from crawlproject.workers.partitions import Partitions

WORDS = [
    "news",
    "sport",
    "about",
    "product",
    "category",
    "article",
    "archive",
    "index",
    "forum",
    "user",
    "image",
    "view",
]
DECODERS = [decode_journal, decode_rows, decode_seen, decode_message]


def url_rows(servers: int, each: int, seed: int = 1) -> list[tuple[bytes, bytes, bytes]]:
    """Keys and rows of table ``urls`` and seen keys, as a crawl has them: URLs of 68 bytes on average."""
    random_ = random.Random(seed)
    partitions = Partitions(256)
    rows = []
    for server in range(servers):
        host = f"http://www.{random_.choice(WORDS)}{random_.randrange(10**8):08}.example"
        for number in range(each):
            words = random_.sample(WORDS, 3)
            path = f"/{words[0]}/{words[1]}-{words[2]}/{random_.randrange(10**6)}.html"
            place = encode_sort_key(1.0, 0, 10**6 + server * each + number, by_quality=True)
            key = (7 << 24 | server).to_bytes(4, "big") + place
            rows.append((key, encode_row(path.encode(), 3, None), key_bytes(partitions.url_key(host + path))))
    return rows


def example_blobs() -> list[bytes]:
    """One of each kind, in the order of ``DECODERS``."""
    rows = url_rows(3, 4)
    tables: Tables = {
        "urls": {key: row for key, row, _ in rows[3:]} | {key: None for key, _, _ in rows[:3]},
        "seen": {seen: b"" for _, _, seen in rows},
        "servers": {b"\0\0\0\1": b'{"key":"http://a"}'},
    }
    return [
        encode_journal(7, tables),
        encode_rows("urls", [(key, row) for key, row, _ in rows]),
        encode_seen(sorted((seen, b"") for _, _, seen in rows)),
        encode_message([Entry("http://a/", 1.0, 0, 1, b"x"), Entry("http://b/", 2.5, -1, 0, None)]),
    ]


keys = st.binary(max_size=24) | st.binary(min_size=21, max_size=21) | st.binary(min_size=12, max_size=12)
values = st.none() | st.just(b"") | st.binary(max_size=40)
tables = st.dictionaries(
    st.sampled_from(["urls", "seen", "servers", "lengths", "places", "ä"]), st.dictionaries(keys, values, min_size=1)
)
urls = st.text(st.characters() | st.characters(categories=["Cs"]), min_size=1, max_size=40)
entries = st.builds(
    Entry,
    urls,
    st.floats(0, allow_infinity=False),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(0, 2**32 - 1),
    st.none() | st.binary(max_size=30),
    place=st.none(),
)


@given(st.integers(0, 2**32 - 1), tables)
def test_journal_comes_back(seq: int, changes: Tables) -> None:
    assert decode_journal(encode_journal(seq, changes)) == (seq, changes)


@given(
    st.sampled_from(["urls", "servers", "ä"]),
    st.dictionaries(keys, st.binary(max_size=40)).map(lambda rows: list(rows.items())),
)
def test_rows_come_back_in_order(table: str, rows: list[tuple[bytes, bytes]]) -> None:
    assert decode_rows(encode_rows(table, rows)) == (table, rows)


marks = st.just(b"") | st.integers(1, 255).map(lambda number: bytes((number,)))


@given(st.dictionaries(st.binary(min_size=12, max_size=12), marks).map(lambda rows: sorted(rows.items())))
def test_seen_keys_come_back(seen: list[tuple[bytes, bytes]]) -> None:
    assert decode_seen(encode_seen(seen)) == seen


@given(st.lists(entries))
def test_message_comes_back(sent: list[Entry]) -> None:
    assert decode_message(encode_message(sent)) == (sent, 0)


def test_bad_entries_are_skipped_and_counted() -> None:
    good = [Entry("http://a/"), Entry("http://b/" + "x" * (MAX_URL - 9), payload=b"p")]
    bad = [Entry(""), Entry("http://c/" + "x" * MAX_URL), Entry("http://d/", float("nan")), Entry("http://e/", -1.0)]
    sent = [good[0], *bad, good[1], Entry("http://f/", float("inf"))]
    assert decode_message(encode_message(sent)) == (good, 5)


def test_url_that_is_no_text_is_skipped() -> None:
    blob = encode_message([Entry("http://a/"), Entry("http://QQ/")])
    columns = [column.replace(b"QQ", b"\xc3\x28") for column in blobs.read_blob(3, blob)]
    changed = blobs.write_blob(3, columns)
    assert decode_message(changed) == ([Entry("http://a/")], 1)


@pytest.mark.parametrize("entry", [Entry("http://a/", priority=2**31), Entry("http://a/", depth=-1)])
def test_numbers_that_do_not_fit(entry: Entry) -> None:
    with pytest.raises(ValueError, match="priority or depth"):
        encode_message([entry])


@pytest.mark.parametrize("number", range(4))
def test_every_damaged_byte_is_noticed(number: int) -> None:
    blob, decode = example_blobs()[number], DECODERS[number]
    for at in range(len(blob)):
        with pytest.raises(BlobError):
            decode(blob[:at] + bytes((blob[at] ^ 0x55,)) + blob[at + 1 :])
        with pytest.raises(BlobError):
            decode(blob[:at])
    with pytest.raises(BlobError):
        decode(blob + b"\0")
    with pytest.raises(BlobError, match=r"version 2: this program knows versions up to 1"):
        decode(b"\2" + blob[1:])


def test_kinds_are_not_mistaken() -> None:
    for number, blob in enumerate(example_blobs()):
        for other, decode in enumerate(DECODERS):
            if other != number:
                with pytest.raises(BlobError, match="another kind"):
                    decode(blob)


def with_checksum(kind: int, body: bytes) -> bytes:
    """What somebody would write who wants to harm."""
    return b"\1" + crc32(body, kind).to_bytes(4, "big") + body


@given(st.integers(0, 3), st.binary(max_size=60))
def test_anything_with_a_right_checksum(kind: int, body: bytes) -> None:
    for data in (body, compressed(body), blobs.write_blob(kind, [body])[5:], blobs.write_blob(kind, [b"\1", body])[5:]):
        with suppress(BlobError):
            DECODERS[kind](with_checksum(kind, data))


@given(st.integers(0, 3), st.data())
def test_changed_columns_with_a_right_checksum(kind: int, data: st.DataObject) -> None:
    """Each column in turn is replaced: a result or BlobError, nothing else."""
    columns = blobs.read_blob(kind, example_blobs()[kind])
    columns[data.draw(st.integers(0, len(columns) - 1))] = data.draw(st.binary(max_size=30))
    with suppress(BlobError):
        DECODERS[kind](blobs.write_blob(kind, columns))


def compressed(data: bytes) -> bytes:
    """Without the magic number."""
    return zstandard.ZstdCompressor().compress(data)[4:]


def test_bombs() -> None:
    """Lengths and counts that promise more than there is, or too much."""
    huge = blobs.write_numbers([2**32 - 1])
    for kind, body in [
        (1, compressed(bytes(blobs.MAX_BYTES + 1))),
        (1, compressed(huge)),
        (1, compressed(blobs.write_numbers([1, 2**32 - 1]))),
        (1, blobs.write_blob(1, [b"urls", huge, b"", blobs.write_numbers([1]), b""])[5:]),
        (1, blobs.write_blob(1, [b"urls", blobs.write_numbers([1]), b"x", huge, b""])[5:]),
        (2, blobs.write_blob(2, [huge, b"\0\0\0\1"])[5:]),
        (3, blobs.write_blob(3, [huge, b"", huge, b"", huge, b""])[5:]),
    ]:
        with pytest.raises(BlobError):
            DECODERS[kind](with_checksum(kind, body))


def test_too_much_is_refused_when_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blobs, "MAX_BYTES", 1000)
    monkeypatch.setattr(blobs, "MAX_COUNT", 100)
    with pytest.raises(BlobError, match="too large"):
        encode_rows("servers", [(b"1", bytes(1001))])
    with pytest.raises(BlobError, match="too large"):
        encode_seen([(bytes(12), b"")] * 99)
    with pytest.raises(BlobError, match="too many"):
        encode_rows("urls", [(bytes(21), b"\0\0")] * 101)


@pytest.mark.parametrize(("servers", "each", "limit"), [(1, 12, 41), (2, 6, 43), (3, 17, 32)])
def test_journal_is_small(servers: int, each: int, limit: float) -> None:
    """Bytes per new URL with its seen key."""
    rows = url_rows(servers, each)
    blob = encode_journal(
        12_345, {"urls": {key: row for key, row, _ in rows}, "seen": {seen: b"" for _, _, seen in rows}}
    )
    assert len(blob) / len(rows) <= limit


def test_snapshot_is_small() -> None:
    rows = url_rows(20, 50)
    assert len(encode_rows("urls", [(key, row) for key, row, _ in rows])) / len(rows) <= 20
    assert len(encode_seen(sorted((seen, b"") for _, _, seen in rows))) / len(rows) <= 8.3
