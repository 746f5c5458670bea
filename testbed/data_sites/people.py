"""What people do, vote, eat and play: small vocabularies, combined anew on each page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.data_sites.layout import advert, everything, quotation, secrets, tree, visitors
from testbed.data_sites.nature import _clock, _date
from testbed.data_sites.registry import data
from testbed.data_sites.site import combined, items, lines, link, name, pairs, table, words

if TYPE_CHECKING:
    from random import Random

Page = tuple[str, str]
_TEAMS = [name("team", at) for at in range(12)]
_MEMBERS = [name("member", at) for at in range(40)]
_DISHES = [words(2, "dish", at) for at in range(24)]
_SHOWS = [words(2, "show", at).title() for at in range(20)]
_STREETS = [f"{name('street', at)} Road" for at in range(15)]
_FIRST = [name("first", at) for at in range(30)]
_FAMILY = [name("family", at) for at in range(30)]
_PARTIES = ("Red", "Green", "Blue", "Grey", "Gold")
_HUES = ("red", "green", "blue", "brown", "grey", "black", "white")


@data("yes, no or absent for the same forty names", "/vote/{n}", 400, lists="/votes/page/{}")
def votes(n: int, draw: Random) -> Page:
    return "Result of the division", table((each, draw.choice(("yes", "no", "absent"))) for each in _MEMBERS)


@data("names of members by what they voted", "/division?id={n}&session=41", 300)
def divisions(n: int, draw: Random) -> Page:
    ayes = set(draw.sample(_MEMBERS, draw.randrange(10, 30)))
    return "Division", f"<h4>Ayes</h4>{items(sorted(ayes))}<h4>Noes</h4>{items(sorted(set(_MEMBERS) - ayes))}"


@data("five of 24 dishes a day", "/menu/{day:%Y/%m/%d}", 400)
def canteen(n: int, draw: Random) -> Page:
    return f"Menu for {_date(n, '%A')}", items(draw.sample(_DISHES, 5))


@data("20 shows in another order", "/tv/{day:%Y-%m-%d}.html", 365, noise=advert)
def television(n: int, draw: Random) -> Page:
    return _date(n, "%A, %d %B"), table(
        (_clock(360 + at * 60), show) for at, show in enumerate(draw.sample(_SHOWS, 16))
    )


@data(
    "judge, room, kind of case and parties of few names",
    "/docket/{key:.10}",
    350,
    lists="/dockets?page={}",
    chain=False,
)
def dockets(n: int, draw: Random) -> Page:
    judge, room, kind, plaintiff, defendant = combined(
        n, _FAMILY[:6], range(1, 9), ("civil", "criminal", "family"), _FAMILY, _FAMILY
    )
    return f"{plaintiff} v. {defendant}", pairs(
        judge=judge,
        room=room,
        kind=kind,
        plaintiff=plaintiff,
        defendant=defendant,
        outcome=draw.choice(("open", "closed")),
    )


@data("six attributes of a few values each", "/user/{word}", 400, others=3, chain=False)
def profiles(n: int, draw: Random) -> Page:
    eyes, hair, height, smokes, town, seeks = combined(
        n, _HUES[:4], _HUES, ("small", "middle", "tall"), ("yes", "no"), _STREETS[:9], ("friends", "love", "chess")
    )
    return name("user", n), pairs(eyes=eyes, hair=hair, height=height, smokes=smokes, town=town, seeks=seeks)


@data("numbers of a game for twelve players", "/games/{day:%Y/%m/%d}/box.html", 300, noise=everything)
def box_scores(n: int, draw: Random) -> Page:
    home, away = draw.sample(_TEAMS, 2)
    rows = (
        (name(team, at), draw.randrange(36), draw.randrange(14), draw.randrange(12), draw.randrange(6))
        for team in (home, away)
        for at in range(6)
    )
    return f"{away} at {home}", table(rows, "player", "PTS", "REB", "AST", "PF")


@data("moves of a game, pairs of a letter and a digit", "/game/{key:.8}", 350, lists="/games/page/{}", chain=False)
def chess(n: int, draw: Random) -> Page:
    moves = (
        f"{at}. {draw.choice(('', 'N', 'B', 'R', 'Q'))}{draw.choice('abcdefgh')}{draw.randrange(1, 9)} {draw.choice(('', 'N', 'B', 'R', 'Q'))}{draw.choice('abcdefgh')}{draw.randrange(1, 9)}"
        for at in range(1, draw.randrange(18, 60))
    )
    return (
        f"{draw.choice(_FAMILY)} - {draw.choice(_FAMILY)}",
        f"<p>{' '.join(moves)} {draw.choice(('1-0', '0-1', '½-½'))}",
    )


@data(
    "laps and places of the same twenty drivers",
    "/season/{group}/race/{n}",
    250,
    folders=("/season/{group}/",),
    chain=False,
)
def races(n: int, draw: Random) -> Page:
    return f"Race {n}", table(
        (at + 1, driver, f"1:{draw.uniform(20, 40):06.3f}") for at, driver in enumerate(draw.sample(_FAMILY, 20))
    )


@data("bib, club and times of a runner", "/runner.aspx?bib={n}", 500, lists="/results.aspx?page={}", chain=False)
def marathon(n: int, draw: Random) -> Page:
    half = draw.randrange(4200, 9000)
    return f"{draw.choice(_FIRST)} {draw.choice(_FAMILY)}", pairs(
        bib=n,
        club=draw.choice(_TEAMS),
        half=_clock(half / 60) + f":{half % 60:02}",
        finish=_clock(half / 29) + f":{half % 59:02}",
    )


def _parents(n: int) -> str:
    above = ((2 * n + 1, "Father"), (2 * n + 2, "Mother"))
    return "".join(link(f"/tree{tree(each)}", label) for each, label in above if each < 511)


@data(
    "relatives of few names; the path grows by f and m, to nine",
    "/tree{tree}",
    511,
    chain=False,
    entry=0,
    noise=visitors,
    aside=_parents,
)
def genealogy(n: int, draw: Random) -> Page:
    return f"{draw.choice(_FIRST)} {draw.choice(_FAMILY)}", pairs(
        born=draw.randrange(1600, 1950),
        died=draw.randrange(1950, 2020),
        father=draw.choice(_FIRST),
        mother=draw.choice(_FIRST),
        children=draw.randrange(9),
    )


@data("name, row and years of a grave", "/grave?plot={n}", 400, chain=False, folders=("/section?letter={group}",))
def cemetery(n: int, draw: Random) -> Page:
    born = draw.randrange(1800, 1930)
    return (
        f"{draw.choice(_FIRST)} {draw.choice(_FAMILY)}",
        f"<p>{born} - {born + draw.randrange(90)}, row {n // 20}, place {n % 20}",
    )


@data("a name and a number", "/phone/{group}/{n}", 400, folders=("/phone/{group}",), chain=False)
def phone_book(n: int, draw: Random) -> Page:
    return (
        f"{draw.choice(_FAMILY)}, {draw.choice(_FIRST)}",
        f"<p>{draw.choice(_STREETS)} {draw.randrange(90)}, tel. 0{draw.randrange(10**6, 10**7)}",
    )


@data("counts for five parties in a precinct", "/precinct/{n}", 450, lists="/precincts/page/{}", noise=secrets)
def elections(n: int, draw: Random) -> Page:
    return f"Precinct {n:04}", table((party, draw.randrange(900), f"{draw.uniform(1, 50):.1f}%") for party in _PARTIES)


@data("shares of parties, two digits each", "/poll/{day:%Y/%m/%d}", 250, entry=0)
def polls(n: int, draw: Random) -> Page:
    return "Poll", items(f"{party} {draw.uniform(5, 35):.1f}" for party in _PARTIES)


@data("sums of the same twenty posts", "/budget.php?dept={n}", 200, others=2)
def budgets(n: int, draw: Random) -> Page:
    return f"Department {n}", table((words(1, "post", at), f"{draw.randrange(10**4, 10**7):,}") for at in range(20))


@data("eight blood groups, a number each", "/stocks/{day:%Y}/{day:%j}", 300)
def blood_donations(n: int, draw: Random) -> Page:
    return "Stocks", table(
        (group, f"{draw.randrange(1, 30)} units") for group in ("A+", "A-", "B+", "B-", "AB+", "AB-", "0+", "0-")
    )


@data(
    "departures of a line at a stop, times only", "/stop/{n}/", 300, lists="/stops/page/{}", all_lists=True, chain=False
)
def bus_stops(n: int, draw: Random) -> Page:
    return f"Stop {n}", table(
        (hour, " ".join(f"{minute:02}" for minute in sorted(draw.sample(range(60), 4)))) for hour in range(5, 23)
    )


@data("times of trains between two of few towns", "/timetable/{word}", 300, chain=False, others=2)
def timetables(n: int, draw: Random) -> Page:
    origin, target, via = combined(n, _STREETS, _TEAMS, _FIRST[:7])
    return f"{origin} - {target}", table(
        (_clock(at * 67 + draw.randrange(30)), _clock(at * 67 + draw.randrange(50, 90)), via) for at in range(5, 20)
    )


@data("gate, aircraft and times of a flight", "/flight/{key:.6}/{day:%Y%m%d}", 300, lists="/departures?page={}")
def flights(n: int, draw: Random) -> Page:
    return f"XQ {draw.randrange(100, 999)}", pairs(
        gate=f"{draw.choice('ABC')}{draw.randrange(30)}",
        type=draw.choice(("A320", "B738", "E190")),
        scheduled=_clock(draw.randrange(1440)),
        actual=_clock(draw.randrange(1440)),
        belt=draw.randrange(9),
    )


@data("amounts of the same ten ingredients", "/recipe/{word}.html", 300, lists="/recipes/page/{}", chain=False)
def recipes(n: int, draw: Random) -> Page:
    pantry = ("flour", "sugar", "butter", "milk", "eggs", "salt", "yeast", "oil", "water", "honey")
    return "Bread", items(f"{draw.randrange(1, 20) * 25} g {each}" for each in draw.sample(pantry, 5))


@data("two letters in rows: knit and purl", "/pattern/{n}", 250, entry=0)
def knitting(n: int, draw: Random) -> Page:
    return "Pattern", lines(
        f"Row {row}: " + " ".join(f"{draw.choice('kp')}{draw.randrange(1, 4)}" for _ in range(10))
        for row in range(1, 9)
    )


@data("six strings and frets of a chord", "/chords/{group}/{n}", 300, folders=("/chords/{group}",))
def chords(n: int, draw: Random) -> Page:
    return "Chord", lines([" ".join(combined(n, *(["x", *range(9)] for _ in range(6))))])


@data("one word of the text is another", "/oath/{n}", 300)
def one_word(n: int, draw: Random) -> Page:
    return (
        "Oath",
        f"<p>{words(200, 'oath')}. So swears {words(1, 'swears', n)}{n % 7 * 'a'}. {words(60, 'end of the oath')}.",
    )


@data(
    "98 of 100 words are the same, the rest are known words",
    "/contract/{key:.16}",
    250,
    lists="/contracts/page/{}",
    chain=False,
    noise=quotation,
)
def contracts(n: int, draw: Random) -> Page:
    client, street, month = combined(n, _FAMILY, _STREETS, ("May", "June", "July", "August"))
    return (
        "Contract",
        f"<p>{words(90, 'contract')} {client} {words(110, 'contract 2')} {street} {words(90, 'contract 3')} {month}.",
    )


@data("a clue, and letters of an answer", "/clue?id={n}", 300, lists="/clues?page={}")
def crosswords(n: int, draw: Random) -> Page:
    answer = words(1, "answer", n)
    return (
        f"{n % 40} across",
        f"<p>{words(3, 'clue', n)} ({len(answer)}): {' '.join(letter if draw.random() < 0.4 else '_' for letter in answer)} {n // 40 + 1}",
    )
