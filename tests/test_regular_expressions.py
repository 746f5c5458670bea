"""Every regular expression of the package is linear: what strangers write goes through nearly all of them."""

import importlib
import pkgutil
import re
import re._parser as parser  # type: ignore[import-not-found]
import time
from collections.abc import Iterator
from typing import Any

import pytest
from scrapy.settings import Settings

import crawlproject
from crawlproject.options.following import LinkOptions
from crawlproject.urls.drop_params import DEFAULT_DROP_PARAMS, DropRules

#: Length of the shorter input, and how many times as long the longer one is.
LENGTH, TIMES = 2_000, 4

#: Seconds of CPU that the longer input may take, whatever the shorter one took: a quadratic one takes 0.016 s or more.
ENOUGH = 0.008

#: A parsed ``(?!)``.
NEVER = repr(parser.parse("(?!)"))
REPEATS = (parser.MAX_REPEAT, parser.MIN_REPEAT, parser.POSSESSIVE_REPEAT)

#: Where the package has none of strangers' text.
OURS = ("crawlproject.commands", "crawlproject.simulation")

#: What is repeated: what expressions of URLs, markup and headers look for.
UNITS = [
    *(" ", "\t", "\n", "\0", "\x80", "a", "f", "z", "A", "0", "1", "9", ".", "..", "/", "//", "./", "../", "\\"),
    *("-", "_", ",", ";", ":", "?", "&", "=", "#", "%", "+", "*", "@", "[", "]", "(", "!", '"', "'", "<", ">", "`"),
    *("%4", "%41", "%2F", "%25", "%253A", "&#", "&#1", "&#1;", "1/", "/1", "a1", "1a", "#/", "#/,", "a.", "a:", "a,"),
    *(
        "a=",
        "a=1&",
        "?a=",
        ";a=1",
        "=1",
        "= ",
        "a ",
        "a =",
        "a=' ",
        'a="',
        "<a",
        "<a ",
        "</",
        "</a",
        "<!--",
        "-->",
        "<!-",
    ),
    *("<p>", "<b>", "<script", "</script", "<title>", "http", "http:", "https://", "=http://", "%3Dhttp", "http%253A"),
    *("/2024", "/2024/01", "/2024/01/01", "year", "month=", "date", "=2024", "xn--", "xn--a.", "sid=", ";jsessionid="),
    *("utm_", "max-age=", "max-age= ", "\u0130", "\u00e9", "\ud800", "\U0001f4a9"),
]
#: What stands before and behind the repetition.
STARTS = ["", "http://", "http://a", "a", "/", "?", "=", "#", "<a ", "<!--", "<script>", "&", ";", "0"]
ENDS = ["", "\n", "!", "z", "0", "/", ":80", "=", ">", "\0", "x" * 9]


def patterns() -> dict[tuple[re.Pattern[Any], str], str]:
    """Every compiled expression that a module keeps, and how it is used: name by (expression, method).

    Of a bound method the method; an expression itself may be used in any way.
    """
    found: dict[tuple[re.Pattern[Any], str], str] = {}
    for module in pkgutil.walk_packages(crawlproject.__path__, "crawlproject."):
        if module.name.startswith(OURS) or "__main__" in module.name:
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, re.Pattern):
                found.setdefault((value, "finditer"), f"{module.name}.{name}")
            elif isinstance(pattern := getattr(value, "__self__", None), re.Pattern):
                found.setdefault((pattern, value.__name__), f"{module.name}.{name}")
    rules = DropRules.compile((*DEFAULT_DROP_PARAMS, "sid", ";sid", "x_*", ";x_*"))
    found[rules.path_params, "finditer"] = "DropRules.path_params"
    found[rules.hint, "finditer"] = "DropRules.hint"
    found[LinkOptions.from_settings(Settings()).types, "fullmatch"] = "PageTypes"
    return found


PATTERNS = patterns()


def inputs(length: int) -> list[str]:
    """Each unit repeated, between nothing and nothing, and between some starts and ends or another unit."""
    texts = []
    for number, unit in enumerate(UNITS):
        body = unit * (length // len(unit))
        texts.append(body)
        for place in range(4):
            start, end = STARTS[(number + 3 * place) % len(STARTS)], ENDS[(number + place) % len(ENDS)]
            texts.append(f"{start}{body}{UNITS[7 * number % len(UNITS)] if place == 3 else end}")
    return texts


SHORT, LONG = inputs(LENGTH), inputs(LENGTH * TIMES)


def cost(pattern: re.Pattern[Any], method: str, text: Any) -> float:
    """Seconds of CPU that it takes; used in whichever way, to find it everywhere, unless it is anchored."""
    started = time.thread_time()
    if method in ("match", "fullmatch"):
        getattr(pattern, method)(text)
    else:
        pattern.match(text)
        for _ in pattern.finditer(text):
            pass
    return time.thread_time() - started


def worst(pattern: re.Pattern[Any], method: str = "finditer") -> tuple[float, str]:
    """Seconds of the first input that takes more than linear time, and that input; 0 and nothing: there is none."""
    for short, long in zip(SHORT, LONG, strict=True):
        texts: list[Any] = [short, long]
        if isinstance(pattern.pattern, bytes):
            texts = [text.encode("utf-8", "surrogatepass") for text in texts]
        took = cost(pattern, method, texts[1])
        if took > ENOUGH:
            few = 2 * TIMES * min(cost(pattern, method, texts[0]) for _ in range(3))
            if took > few and all(cost(pattern, method, texts[1]) > few for _ in range(2)):
                return took, repr(long[:60])
    return 0.0, ""


@pytest.mark.parametrize(("pattern", "method"), PATTERNS, ids=PATTERNS.values())
def test_expression_is_linear(pattern: re.Pattern[Any], method: str) -> None:
    """Four times the text takes no more than eight times the CPU, on whatever is repeated in it."""
    took, text = worst(pattern, method)
    assert not took, f"{took:.2f} s: {text}"


@pytest.mark.parametrize("expression", [r"<a[^>]*z", r"[a-z]+:"])
def test_quadratic_expression_is_found(expression: str) -> None:
    """The test fails where it must."""
    assert worst(re.compile(expression))[0] > 0


def may_fail(item: Any) -> bool:
    operation, value = item
    if operation in REPEATS:
        return value[0] > 0
    if operation is parser.BRANCH:
        return all(any(map(may_fail, branch)) for branch in value[1])
    if operation in (parser.SUBPATTERN, parser.ATOMIC_GROUP):
        return any(map(may_fail, value[-1] if operation is parser.SUBPATTERN else value))
    return True


def is_undecided(body: Any) -> bool:
    """Whether a group may fail after it has consumed something: not if ``(?!)`` is its last alternative."""
    paths = alternatives(body)
    return repr(paths[-1]) != NEVER and any(any(map(may_fail, path[1:])) for path in paths)


def undecided(sequence: Any) -> Iterator[Any]:
    """The bodies of possessive groups, at any depth, that may fail halfway."""
    for operation, value in sequence:
        if operation in REPEATS:
            if operation is parser.POSSESSIVE_REPEAT and is_undecided(value[2]):
                yield value[2]
            yield from undecided(value[2])
        elif operation is parser.BRANCH:
            yield from (found for branch in value[1] for found in undecided(branch))
        elif operation in (parser.SUBPATTERN, parser.ASSERT, parser.ASSERT_NOT):
            yield from undecided(value[-1])
        elif operation is parser.ATOMIC_GROUP:
            yield from undecided(value)


def alternatives(sequence: Any) -> list[Any]:
    operation, value = sequence[0]
    if operation is parser.BRANCH and len(sequence) == 1:
        return [found for branch in value[1] for found in alternatives(branch)]
    if operation is parser.SUBPATTERN and len(sequence) == 1:
        return alternatives(value[-1])
    return [sequence]


def test_possessive_groups_that_fail_halfway_are_found() -> None:
    """As Python 3.11.2 reads them wrong: ``(?:ab)?+.`` finds "c" in "ac" there."""
    for expression in ("(?:ab)?+", "(?:a|bc)*+", "x(y(?:[.,][0-9]++)*+)", "(?:a(?:b|c)|d)*+", "(?:a+b?c)*+"):
        assert [*undecided(parser.parse(expression))], expression
    for expression in (
        "a*+",
        "(?:ab)*",
        "(?:ab|(?!))?+",
        "(?:a(?:b|c)|d|(?!))*+",
        "(?:a|b)*+",
        "(?:a*+b*)*+",
        "(?:[ab]++c?+)*+",
    ):
        assert not [*undecided(parser.parse(expression))], expression


def test_all_releases_of_python_read_them_alike() -> None:
    """Up to 3.11.4 a possessive group that fails halfway keeps what it consumed (gh-106052); not before ``|(?!)``."""
    for (pattern, _), name in PATTERNS.items():
        source = pattern.pattern
        text = source.decode("latin-1") if isinstance(source, bytes) else source
        assert not [*undecided(parser.parse(text, pattern.flags & ~re.UNICODE))], name
