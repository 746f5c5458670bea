"""Charsets as browsers read them."""

import pytest
from w3lib.encoding import resolve_encoding
from webencodings.labels import LABELS

from crawlproject.download import charsets  # registers the codecs


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("visual", "iso8859-8"),
        ("iso-8859-6-e", "iso8859-6"),
        ("ISO88592", "iso8859-2"),
        ("iso88591", "cp1252"),
        ("x-cp1251", "cp1251"),
        ("KS_C_5601-1989", "cp949"),
        ("x-gbk", "gb18030"),
        ("x-x-big5", "big5hkscs"),
        ("x-euc-jp", "euc_jp"),
        ("x-mac-cyrillic", "mac-cyrillic"),
    ],
)
def test_labels_of_the_standard_are_known(label: str, name: str) -> None:
    """Each of them would be ignored, and the encoding guessed."""
    assert resolve_encoding(label) == name


@pytest.mark.parametrize("label", ["klingon", "iso-8859-17", "8859", "x_cp1259", "iso8859"])
def test_other_labels_stay_unknown(label: str) -> None:
    """The search for codecs sees every unknown name of the process."""
    assert resolve_encoding(label) in (None, "iso8859-1", "cp1252")


def test_encodings_that_are_put_right() -> None:
    """Wide ones only where markup declares them; EUC-JP with most characters of NEC and IBM."""
    assert charsets.of_markup("utf-16-le") == charsets.of_markup("utf-32") == "utf-8"
    assert charsets.of_header("utf-16-le") == "utf-16-le"
    assert charsets.of_markup("koi8-r") == "koi8-r"
    assert charsets.of_header("utf-16") == charsets.of_header("unicode") == "utf-16-le"
    codec = charsets.of_header("euc-jp")
    assert codec is not None
    assert bytes.fromhex("ada1adeaade2b4c1").decode(codec) == "①㈱№漢"
    assert "①漢".encode(codec) == bytes.fromhex("ada1b4c1")


@pytest.mark.parametrize("label", ["", "utf-32", "utf-7", "base64", "punycode", "cp437", "hz", "klingon"])
def test_labels_that_browsers_do_not_know_are_ignored(label: str) -> None:
    """Python knows most of them."""
    assert charsets.of_header(label) is None


def test_each_encoding_of_the_standard_is_known() -> None:
    """By another implementation of it; without those of which browsers show nothing."""
    unknown = {name for label, name in LABELS.items() if charsets.of_header(label) is None}
    assert unknown == {"replacement", "x-user-defined"}
