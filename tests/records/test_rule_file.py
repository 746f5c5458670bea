"""Rule files: what they may say, and how a wrong one is refused."""

import re
from pathlib import Path

import pytest

from crawlproject.records.rule_file import read_rules, read_site

GOOD = """\
# A shop.
seeds = ["http://shop.example/list"]
domains = ["shop.example", "example.org:8080"]

[follow]
allow = ["/list"]
deny = ["*?sort="]

[pagination]
css = "a.next::attr(href)"

[render]
steps = ["scroll 3"]

[records.book]
pages = ["/book/*"]
key = ["isbn"]

[records.book.fields]
isbn = { css = ".isbn", required = true }
title = "h1"
price = { css = ".price", type = "number", locale = "de-CH" }
on = { xpath = "//time", attr = "datetime", type = "date" }

[records.book.fields.authors]
css = ".author"
many = true

[records.book.fields.authors.fields]
name = "b"
"""


def test_good_file() -> None:
    """Everything in it is there, in its order."""
    site = read_site(GOOD, Path("shop.toml"))
    assert (site.name, site.seeds, site.domains) == (
        "shop",
        ("http://shop.example/list",),
        ("shop.example", "example.org:8080"),
    )
    (book,) = site.records
    assert [field.name for field in book.fields] == ["isbn", "title", "price", "on", "authors"]
    assert book.key == ("isbn",)
    assert site.render == {"steps": ["scroll 3"]}
    assert [site.follows(f"http://shop.example{path}") for path in ("/list", "/book/1", "/about", "/list?sort=x")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('css = ".isbn"', 'css = ".isbn[["', "records.book.fields.isbn.css: '.isbn[['"),
        ('xpath = "//time"', 'xpath = "//time["', "records.book.fields.on.xpath: '//time['"),
        ('"number", loc', '"numbr", loc', "records.book.fields.price.type: 'numbr' is not one of text, raw"),
        ('"de-CH"', '"german"', "records.book.fields.price.locale: 'german' is not a language"),
        ("required = true", 'required = "yes"', "records.book.fields.isbn.required: must be true or false"),
        ("required = true", "requird = true", "records.book.fields.isbn.requird: unknown key; known keys: css"),
        ('title = "h1"', 'title = { type = "text" }', "records.book.fields.title: needs one of css, xpath"),
        ('title = "h1"', "title = 3", "records.book.fields.title: must be a CSS selector or a table, not 3"),
        ('title = "h1"', 'Title = "h1"', "records.book.fields.Title: a name begins with"),
        ('title = "h1"', 'digest = "h1"', "records.book.fields.digest: digest is used by every record"),
        ('title = "h1"', 'title = { css = "h1", xpath = "//h1" }', "records.book.fields.title.xpath: css is"),
        ('title = "h1"', 'title = { json = "a[" }', "records.book.fields.title.json: 'a['"),
        ('title = "h1"', 'title = { regex = "(" }', "records.book.fields.title.regex: '('"),
        ('title = "h1"', 'title = { regex = "(?=x)" }', "records.book.fields.title.regex: '(?=x)'"),
        ('title = "h1"', 'title = { json = "a", attr = "b" }', "records.book.fields.title.attr: needs css"),
        ('title = "h1"', 'title = { css = "", many = 1 }', "records.book.fields.title.css: '': Expected selector"),
        ('key = ["isbn"]', 'key = ["isbm"]', "records.book.key: 'isbm' is no field with one value; these are isbn, on"),
        ('key = ["isbn"]', 'key = "authors"', "records.book.key: 'authors' is no field"),
        ('deny = ["*?sort="]', 'deny = ["sort"]', "follow.deny: 'sort': a pattern begins with"),
        ('allow = ["/list"]', 'allow = ["re:("]', "follow.allow: 're:('"),
        ('seeds = ["http://shop.example/list"]', 'seeds = ["shop"]', "seeds: not an http or https URL: 'shop'"),
        ('seeds = ["http://shop.example/list"]', "", "seeds: missing: at least one URL"),
        ('"shop.example", "ex', '"shop example", "ex', "domains: not a domain"),
        ('[pagination]\ncss = "a.next::attr(href)"', "[pagination]", "pagination: needs one of css"),
        ("[records.book]\npages", "[recods.book]\npages", "recods: unknown key; known keys: seeds"),
        ("[records.book.fields]", "[[records.book.fields]]", "records.book.fields: must be a table, not [{"),
        ('pages = ["/book/*"]', 'name = "h1"', "records.book.name: unknown key; known keys: rows, pages, key, fields"),
        ("shop.example/list", "shop.test/list", "seeds: 'http://shop.test/list' is in none of the domains: sho"),
        ('title = "h1"', "title = h1", "Invalid value (at line 21, "),
        ("# A shop.", 'sedes = "x"', "sedes: unknown key; known keys: seeds"),
        ('name = "b"', 'name = "b:nope(3)"', "records.book.fields.authors.fields.name.css"),
        ("many = true", "many = true\nmany = false", "Cannot overwrite a value (at line 28, "),
        ("many = true", "many =", "Invalid value (at line 27, "),
        ("many = true", 'many = "x', "(at line 27, "),
        ("[render]", "[records]", "records.steps: must be a table, not ["),
        ("steps = [", "step = [", "render: {'step': ['scroll 3']}: must be one of never, auto, always, a list"),
        ("scroll 3", "clack #more", "render: step 'clack #more': must be 'scroll', 'scroll N', 'click CSS'"),
    ],
)
def test_wrong_file_is_refused(old: str, new: str, told: str) -> None:
    """In one line: file, key, what is allowed; of an error of syntax its line."""
    assert old in GOOD
    with pytest.raises(ValueError, match=re.escape(told)) as error:
        read_site(GOOD.replace(old, new, 1), Path("shop.toml"))
    assert str(error.value).startswith("shop.toml: ")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


def test_expressions_of_exslt_are_refused() -> None:
    """Theirs are Python's ``re``: exponential for some."""
    rules = GOOD.replace('title = "h1"', "title = { xpath = \"//a[re:test(., '(a+)+$')]\" }")
    site = read_site(rules, Path("shop.toml"))  # an unknown prefix shows when it is used
    from crawlproject.records.reading import Source, read_page

    (reading,) = read_page(Source("<b class=isbn>1</b><a>" + "a" * 50, "http://shop.example/book/1"), [*site.records])
    assert [problem.kind for problem in reading.problems] == ["selector"]


def test_folder_is_one_set(tmp_path: Path) -> None:
    """Each page is read by the rules of the nearest domain; no domain and no name belongs to two files."""
    for name, domain in (("a", "a.example"), ("b", "b.a.example"), ("c", "c.example:81")):
        text = GOOD.replace('"shop.example", "example.org:8080"', f'"{domain}"')
        text = text.replace("http://shop.example/", f"http://{domain}/")
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    rules = read_rules(tmp_path)
    urls = [
        "http://a.example/",
        "http://x.a.example/",
        "https://b.a.example/",
        "http://c.example/",
        "http://c.example:81/",
    ]
    assert [site.name if (site := rules.of(url)) else None for url in urls] == ["a", "a", "b", None, "c"]
    (tmp_path / "d.toml").write_text((tmp_path / "a.toml").read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"d\.toml: domains: a\.example is in .*a\.toml, too"):
        read_rules(tmp_path)


def test_what_is_no_rule_file(tmp_path: Path) -> None:
    """One line each."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "binary.toml").write_bytes(b"a = 1\n\xff\xfe")
    (tmp_path / "nothing.toml").write_text("")
    for name, told in (
        ("none.toml", "No such file"),
        ("empty", "no files"),
        ("binary.toml", "not UTF-8"),
        ("nothing.toml", "seeds: missing"),
    ):
        with pytest.raises(ValueError, match=re.escape(told)):
            read_rules(tmp_path / name)
