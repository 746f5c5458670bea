"""Heads and chunks, written again."""

from contextlib import nullcontext

import pytest

from crawlproject.download.answer_repair import (
    MAX_HEAD,
    MAX_INTERIM,
    AnswerReader,
    BrokenAnswerError,
    BrokenBodyError,
    read_head,
)
from tests.cpu import cpu_seconds
from tests.crawl.odd_answers import ODD

BODY = b"<p>page</p>"


def repaired(data: bytes, step: int, *, no_body: bool = False) -> tuple[object, bytes, AnswerReader]:
    """Head and body read of ``data``, which comes in pieces of ``step`` bytes; a broken end is left out."""
    reader = AnswerReader(no_body=no_body)
    body = b""
    try:
        for start in range(0, len(data), step):
            body += reader.feed(data[start : start + step])
            while reader.unread:
                body += reader.feed(reader.unread)
    except BrokenBodyError as error:
        body += error.before
    except BrokenAnswerError:
        return "broken", b"", reader
    return reader.head, body, reader


@pytest.mark.parametrize(
    "name", [name for name in ODD if not name.startswith(("headers of 1 MB", "header of 200", "100 ", "103 "))]
)
def test_pieces_do_not_matter(name: str) -> None:
    """Byte for byte or at once, the same is read."""
    data = b"".join(step for step in ODD[name] if isinstance(step, bytes))
    *at_once, whole = repaired(data, len(data) or 1)
    for step in (1, 2, 7):
        if len(data) < 20_000 or step == 7:
            *pieces, repair = repaired(data, step)
            assert pieces == at_once
            assert (repair.complete, repair.surplus) == (whole.complete, whole.surplus)


@pytest.mark.parametrize(
    ("body", "surplus"), [(BODY, False), (BODY + b"HTTP/1.1 200 OK\r\n\r\n", True), (BODY + b"\r\n", True)]
)
def test_surplus_is_cut_off(body: bytes, surplus: bool) -> None:
    """Behind bodies with a length and behind chunks."""
    _, read, repair = repaired(b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n" + body, 1000)
    assert (read, repair.complete, repair.surplus) == (BODY, True, surplus)
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n%s\r\n0\r\n\r\n" % BODY
    _, read, repair = repaired(chunked + body[len(BODY) :], 1000)
    assert (read, repair.complete, repair.surplus) == (BODY, True, surplus)


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
def test_answers_without_a_body(status: bytes) -> None:
    """To HEAD, 204 and 304: they end with their head, whatever length it says."""
    *_, repair = repaired(b"HTTP/1.1 %s\r\nContent-Length: 9\r\n\r\n" % status, 1000)
    assert repair.complete
    *_, repair = repaired(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 1000, no_body=True)
    assert repair.complete


@pytest.mark.parametrize(
    ("lines", "headers"),
    [
        (b"A : b ", [(b"A", b"b")]),
        (b"A: b\r\n c\r\n\td", [(b"A", b"b c d")]),
        (b"A: b\0c\rd", [(b"A", b"b c d")]),
        (b" a\r\nA: b\n", [(b"A", b"b")]),
        (b"A: b\r\nnonsense\r\nC:\r\nA b: c", [(b"A", b"b"), (b"C", b"")]),
        (b"Content-Length: 5\r\nA: b\r\ncontent-length: 05, 5", [(b"A", b"b"), (b"Content-Length", b"5")]),
        (b"content-length: 5\r\nA: \xe9", [(b"content-length", b"5"), (b"A", b"\xe9")]),
        (b"Content-Length: x\r\nTransfer-Encoding: gzip, Chunked", [(b"Transfer-Encoding", b"chunked")]),
        (b"Content-Length: 5\r\nTransfer-Encoding: rot13", []),
        (b"X-Content-Length: 5", [(b"X-Content-Length", b"5")]),
    ],
)
def test_headers_are_corrected(lines: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    """There is one way to say each thing."""
    assert read_head(b"HTTP/1.1 200 OK\r\n" + lines).headers == headers


def test_a_length_of_no_body_is_left_out() -> None:
    """Of answers that have none."""
    for status in (b"204 No Content", b"100 Continue"):
        assert read_head(b"HTTP/1.1 %s\r\nContent-Length: 5" % status).headers == []
    with pytest.raises(BrokenAnswerError):
        read_head(b"HTTP/1.1 200 OK\r\nContent-Length: +5")


def test_two_ways_to_say_the_end_taint_the_connection() -> None:
    """It is not used again."""
    assert read_head(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked").contradicts
    assert not read_head(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5").contradicts


#: What comes on one connection, on and on.
HOSTILE = {
    "one header": b"HTTP/1.1 200 OK\r\nX: " + b"a" * 300_000,
    "header lines": b"HTTP/1.1 200 OK\r\n" + b"a:\n" * 87_000 + b"\r\n\r\n",
    "folded lines": b"HTTP/1.1 200 OK\r\na:\r\n" + b" \n" * 120_000,
    "lines that are none": b"HTTP/1.1 200 OK\r\n" + b"\r" * 250_000,
    "lengths": b"HTTP/1.1 200 OK\r\nContent-Length: " + b"5," * 125_000 + b"5\r\n\r\nhello",
    "empty lines": b"\r\n" * 150_000,
    "interim": b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000,
    "chunks of a byte": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 43_000,
    "empty trailers": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"a:\n" * 87_000,
    "chunk line": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"0" * 300_000,
}


@pytest.mark.parametrize("step", [262_144, 1460])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_answers_cost_little(name: str, step: int) -> None:
    """256 kB, what one step of the event loop reads, take less than 0.25 s of CPU, also in small packets."""
    assert cpu_seconds(lambda: lambda: repaired(HOSTILE[name], step)) < 0.25


@pytest.mark.parametrize("step", [1 << 30, 25])
def test_interim_answers_are_limited(step: int) -> None:
    """Otherwise a server could send them, and fill the memory, until the time-out."""
    interim, answer = b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 204 No Content\r\n\r\n"
    for times, is_refused in ((MAX_INTERIM, False), (MAX_INTERIM + 1, True)):
        reader, data = AnswerReader(no_body=False), interim * times + answer
        with pytest.raises(BrokenAnswerError) if is_refused else nullcontext():
            for start in range(0, len(data), step):
                reader.feed(data[start : start + step])
            assert reader.complete


def test_a_switch_of_protocols_that_nobody_asked_for_is_not_the_answer() -> None:
    """The answer after it is."""
    reader = AnswerReader(no_body=False)
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
    read = reader.feed(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n" + answer + b"hi")
    assert read == b"hi"
    assert reader.complete


def test_bytes_of_interim_answers_are_limited() -> None:
    """Few large ones fill the memory, too."""
    reader, large = AnswerReader(no_body=False), b"HTTP/1.1 103 Early Hints\r\nLink: " + b"x" * 50_000 + b"\r\n\r\n"
    for _ in range(MAX_HEAD // len(large)):
        reader.feed(large)
    with pytest.raises(BrokenAnswerError):
        reader.feed(large)


def test_length_of_a_head_is_bounded() -> None:
    """What comes is not kept on and on."""
    repair = AnswerReader(no_body=False)
    repair.feed(b"HTTP/1.1 200 OK\r\nX: ")
    with pytest.raises(BrokenAnswerError, match="more than"):
        repair.feed(b"a" * MAX_HEAD)
