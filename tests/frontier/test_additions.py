"""What links add to the address of a page in vain: what is evidence, and what is not."""

from __future__ import annotations

from crawlproject.frontier.guard.additions import MAX_ADDITIONS, MAX_LENGTH, MAX_PARAMETERS, Additions

SITE = "http://a.example"
COUNT = Additions.MIN_PAGES


def learn(additions: Additions, path: str, first: str | None = None, *, is_page: bool = True) -> bool:
    """Learn from the answer at ``path``."""
    return additions.learn(SITE + path, first and SITE + first, is_page=is_page)


def is_idle(additions: Additions, path: str, *seen: str) -> bool:
    """Whether ``path`` shows a page of ``seen`` again."""
    return additions.is_idle(SITE + path, {SITE + each for each in seen}.__contains__)


def highlighted(additions: Additions, count: int = COUNT) -> list[int]:
    """Topics with and without a parameter, either first; those with which it is recognized."""
    found = []
    for n in range(count):
        ways = [f"/t?hl=x&id={n}", f"/t?id={n}"]
        first, second = ways if n % 2 else reversed(ways)
        learn(additions, first)
        if learn(additions, second, first):
            found.append(n)
    return found


def test_a_parameter_without_effect() -> None:
    """The URL must be that of a seen page without it: it may be the only way to a page."""
    additions = Additions()
    assert additions.is_empty
    assert highlighted(additions, COUNT + 5) == [COUNT - 1]
    assert is_idle(additions, "/t?hl=z&id=99", "/t?id=99")
    assert is_idle(additions, "/other?hl=z", "/other")
    assert not is_idle(additions, "/t?hl=z&id=99", "/t?id=98")
    assert not is_idle(additions, "/t?id=99", "/t", "/t?id=99")


def test_a_parameter_that_selects_pages() -> None:
    """One of two languages is that of the page without it."""
    additions = Additions()
    for n in range(3 * COUNT):
        first, second = (f"/{n}?lang=en", f"/{n}")[:: 1 if n % 2 else -1]
        learn(additions, first)
        learn(additions, second, first)
        learn(additions, f"/{n}?lang=de")
    assert not is_idle(additions, "/new?lang=de", "/new")
    for n in range(10 * COUNT):
        learn(additions, f"/only-english/{n}?lang=de", f"/only-english/{n}")
    assert is_idle(additions, "/new?lang=de", "/new")


def test_copies_that_differ_in_more_than_what_is_added_are_no_evidence() -> None:
    """Another page, another value, another path; or too many parameters at once."""
    additions = Additions()
    for n in range(2 * COUNT):
        learn(additions, f"/t?id={n}", "/t?id=0")
        learn(additions, f"/a{n}?x=1", "/b")
        learn(additions, f"/t?{'&'.join(f'x{each}=1' for each in range(MAX_PARAMETERS + 1))}", "/t")
    assert additions.to_state() == []


def test_data_of_a_page() -> None:
    """Whatever the ids look like, and whether the page's address ends with a slash or an extension."""
    additions = Additions()
    for n in range(COUNT):
        learn(additions, f"/{n}x@{n}.example/raw", is_page=False)
        learn(additions, f"/talk/{'ABCDEFGHIJ'[n]}.ics", is_page=False)
    assert is_idle(additions, "/new@id/raw", "/new@id/")
    assert is_idle(additions, "/talk/NEW.ics", "/talk/NEW.html")
    assert not is_idle(additions, "/new@id/raw", "/other@id/")
    assert not is_idle(additions, "/talk/NEW.ics", "/talk/")


def test_another_view_of_a_page() -> None:
    """Each is a copy, of whatever page; one that is none is enough to keep them in their place."""
    additions = Additions()
    for n in range(COUNT + 1):
        learn(additions, f"/{n}x@id/t/", "/0x@id/T/")
        learn(additions, f"/{n}x@id/T/", "/0x@id/T/" if n else None)
    assert is_idle(additions, "/new@id/t/", "/new@id/")
    assert is_idle(additions, "/new@id/T/", "/new@id/")
    learn(additions, "/new@id/T/")
    assert not is_idle(additions, "/other@id/T/", "/other@id/")
    assert not is_idle(additions, "/new@id/t/", "/new@id/t/", "/new@id/T/")


def test_one_page_among_data() -> None:
    """Before or after it is recognized."""
    additions = Additions()
    for n in range(2 * COUNT):
        learn(additions, f"/{n}/raw", is_page=n == 5)
    assert additions.is_empty
    for n in range(COUNT):
        learn(additions, f"/{n}/plain", is_page=False)
    assert is_idle(additions, "/x/plain", "/x")
    learn(additions, "/y/plain")
    assert not is_idle(additions, "/x/plain", "/x")


def test_additions_are_limited() -> None:
    """In number, the one with the most pages stays, and in length."""
    additions = Additions()
    highlighted(additions)
    for n in range(MAX_ADDITIONS + 10):
        learn(additions, f"/data{n}", is_page=False)
        learn(additions, f"/{'x' * MAX_LENGTH}{n}", is_page=False)
        learn(additions, f"/p?{'x' * MAX_LENGTH}{n}=1", "/p")
    state = additions.to_state()
    assert len(state) == MAX_ADDITIONS
    assert max(len(name) for name, *_ in state) == MAX_LENGTH
    assert is_idle(additions, "/t?hl=z&id=99", "/t?id=99")


def test_versions_of_a_page() -> None:
    """The same address, with other values of idle parameters; not the page itself, nor another one."""
    additions = Additions()
    highlighted(additions)
    page = f"{SITE}/t?hl=x&id=1"
    assert additions.is_version(f"{SITE}/t?hl=y&id=1", page)
    for other in ("/t?id=1", "/t?hl=y&id=2", "/t?hl=y&id=1&more=1", "/u?hl=y&id=1", "/t"):
        assert not additions.is_version(SITE + other, page)
    assert not additions.is_version(page, f"{SITE}/t?id=1")
