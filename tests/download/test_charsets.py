"""Charsets as browsers read them: labels that Python does not know, and Japanese characters of NEC and IBM."""

import codecs

import pytest
from w3lib.encoding import resolve_encoding

from crawlproject.download import charsets  # registers the codecs

#: Labels of the Encoding Standard -> the codec.
LABELS = {
    "iso-8859-8-i": "iso8859-8",
    "visual": "iso8859-8",
    "iso-8859-6-e": "iso8859-6",
    "ISO88592": "iso8859-2",
    "iso88591": "cp1252",
    "iso88599": "cp1254",
    "x-cp1251": "cp1251",
    "windows-949": "cp949",
    "KS_C_5601-1989": "cp949",
    "x-gbk": "gb18030",
    "x-x-big5": "big5hkscs",
    "x-euc-jp": "euc_jp",
    "x-mac-cyrillic": "mac-cyrillic",
    "koi": "koi8-r",
}

#: Characters of all rows concerned, and those that differ in Python, with their bytes in EUC-JP.
PAIRS = {"①": "ada1", "㈱": "adea", "№": "ade2", "纊": "f9a1", "髙": "fce2", "～": "a1c1", "－": "a1dd", "漢": "b4c1"}


@pytest.mark.parametrize(("label", "name"), LABELS.items())
def test_labels_of_the_standard_are_known(label: str, name: str) -> None:
    """Each of them would be ignored, and the encoding guessed."""
    assert resolve_encoding(label) == name


@pytest.mark.parametrize("label", ["klingon", "iso-8859-17", "8859", "x_cp1259", "iso8859"])
def test_other_labels_stay_unknown(label: str) -> None:
    """The search for codecs sees every unknown name of the process."""
    assert resolve_encoding(label) in (None, "iso8859-1", "cp1252")


@pytest.mark.parametrize(("character", "pair"), PAIRS.items())
def test_japanese_characters(character: str, pair: str) -> None:
    """Between others, in both encodings; a query of EUC-JP has their bytes."""
    euc = bytes.fromhex(pair)
    jis = b"\x1b$B" + bytes(byte & 0x7F for byte in euc + b"\xb4\xc1") + b"\x1b(B"
    assert (euc + b"\xb4\xc1").decode("cp51932") == f"{character}漢"
    assert jis.decode("cp50221") == f"{character}漢"
    assert character.encode("cp51932") == euc


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_pieces_are_decoded_as_the_whole(size: int) -> None:
    """A character may lie in two pieces; errors stay errors."""
    body = b"a\xad\xa1\xb4\xc1\x8f\xb0\xa1\x8e\xb1\xff\xad\xa1b\xfc\xe2\xa1\xc1"
    decoder = codecs.getincrementaldecoder("cp51932")("replace")
    pieces = [decoder.decode(body[start : start + size]) for start in range(0, len(body), size)]
    assert "".join((*pieces, decoder.decode(b"", True))) == body.decode("cp51932", "replace") == "a①漢丂ｱ�①b髙～"


def test_what_python_can_read_it_reads() -> None:
    """Characters that EUC-JP lacks are errors, as in Python."""
    text = "日本語 abc ｶﾅ 丂"
    assert text.encode("cp51932").decode("cp51932") == text == text.encode("euc_jp").decode("cp51932")
    assert "日本語".encode("cp50221").decode("cp50221") == "日本語"
    with pytest.raises(UnicodeEncodeError):
        "한".encode("cp51932")
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("cp51932")


def test_encodings_that_are_put_right() -> None:
    """Wide ones only where markup declares them."""
    assert charsets.of_markup("utf-16-le") == charsets.of_markup("utf-32") == "utf-8"
    assert charsets.of_header("utf-16-le") == "utf-16-le"
    assert charsets.of_markup("koi8-r") == "koi8-r"
    assert charsets.of_header("utf-16") == charsets.of_header("unicode") == "utf-16-le"


@pytest.mark.parametrize("label", ["", "utf-32", "utf-7", "base64", "punycode", "cp437", "hz", "klingon"])
def test_labels_that_browsers_do_not_know_are_ignored(label: str) -> None:
    """Python knows most of them."""
    assert charsets.of_header(label) is None


def test_each_encoding_of_the_standard_is_known() -> None:
    """By another implementation of it; without those of which browsers show nothing."""
    labels = pytest.importorskip("webencodings.labels", reason="webencodings is not installed").LABELS
    unknown = {name for label, name in labels.items() if charsets.of_header(label) is None}
    assert unknown == {"replacement", "x-user-defined"}
