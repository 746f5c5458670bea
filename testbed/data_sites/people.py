"""What people do, vote, eat and play: each page combines the words of a small vocabulary in another way."""

from __future__ import annotations

from testbed.data_sites.layout import tree
from testbed.data_sites.noise import advert, everything, quotation, secrets, visitors
from testbed.data_sites.registry import data
from testbed.data_sites.site import link

_PARTIES = ("Red", "Green", "Blue", "Grey", "Gold")
_SQUARE = "[N|B|R|Q||][a|b|c|d|e|f|g|h][1-8]"


def _parents(n: int) -> str:
    above = ((2 * n + 1, "Father"), (2 * n + 2, "Mother"))
    return "".join(link(f"/tree{tree(each)}", label) for each, label in above if each < 511)


# A table: a kind takes few lines.
# fmt: off
data(
    "votes", "yes or no of the same names",
    "The division :: <table>{40*<tr><td>[member [i]]<td>[yes|no|absent]}</table>", "/vote/{n}", 400,
    lists="/votes/page/{}")
data(
    "divisions", "names of the same members", "Division :: <h4>Ayes</h4>[20 member/40]<h4>Noes</h4>[10 member/40]",
    "/division?id={n}&session=41", 300)
data("canteen", "five of 24 dishes", "Menu :: <p>[5 dish/24]</p>", "/menu/{day:%Y/%m/%d}", 400)
data(
    "television", "twenty shows in another order", "[date] :: <p>From six o'clock: [16 show/20]",
    "/tv/{day:%Y-%m-%d}.html", 365, noise=advert)
data(
    "dockets", "few names, rooms and kinds",
    "[family/30] v. [family/30] :: Judge [family/6], room [1-9], [civil|criminal|family|tax], [open|closed], [time]",
    "/docket/{key:.10}", 350, lists="/dockets?page={}", chain=False)
data(
    "profiles", "six attributes of few values",
    "[1 words] :: {2*[red|green|blue|brown|grey|black], }[small|tall], [town/30], [friends|love|chess], [18-80]",
    "/user/{word}", 400, others=3, chain=False)
data(
    "box-scores", "numbers of twelve players",
    "[2 team/12] :: <table>{12*<tr><td>[player/40]<td>[0-36]<td>[0-14]<td>[0-12]<td>[0-6]}</table>",
    "/games/{day:%Y/%m/%d}/box.html", 300, noise=everything)
data(
    "chess", "moves: letters and digits",
    f"[family/30] - [family/30] :: <p>{{40*[i]. {_SQUARE} {_SQUARE} }}[1-0|0-1|½-½]", "/game/{key:.8}", 350,
    lists="/games/page/{}", chain=False)
data(
    "races", "places of the same drivers", "Race [n] :: <p>[20 driver/20]</p>1:[20-40].[100-999]",
    "/season/{group}/race/{n}", 250, folders=("/season/{group}/",), chain=False)
data(
    "marathon", "bib, club and times",
    "[first/30] [family/30] :: [n], [club/9], 1:[10-59]:[10-59], [3-5]:[10-59]:[10-59]", "/runner.aspx?bib={n}", 500,
    lists="/results.aspx?page={}", chain=False)
data(
    "genealogy", "few names; the path grows by f and m, eight deep",
    "[first/30] [family/30] :: * [1600-1899], + [1900-1980], of [first/30] and [first/30]; [0-9] children",
    "/tree{tree}", 511, chain=False, entry=0, noise=visitors, aside=_parents)
data(
    "cemetery", "a name, years and a place",
    "[first/30] [family/30] :: <p>[1800-1869] - [1870-1940], row [1-40], [1-40]", "/grave?plot={n}", 400, chain=False,
    folders=("/section?letter={group}",))
data(
    "phone-book", "a name and a number", "[family/30], [first/30] :: <p>0[1000000-9999999]", "/phone/{group}/{n}", 400,
    folders=("/phone/{group}",), chain=False)
data(
    "elections", "counts of five parties", "Precinct [n] :: " + "".join(f"<p>{each}: [0-900]" for each in _PARTIES),
    "/precinct/{n}", 450, lists="/precincts/page/{}", noise=secrets)
data(
    "polls", "two digits a party", "Poll :: " + "".join(f"<p>{each} [5.0-35.0]" for each in _PARTIES),
    "/poll/{day:%Y/%m/%d}", 250)
data(
    "blood-donations", "a number for eight groups", "Stocks :: {8*<p>group [i]: [1-30]}", "/stocks/{day:%Y}/{day:%j}",
    300)
data(
    "bus-stops", "minutes", "Stop [n] :: <table>{18*<tr><td>[i]<td>[0-19] [20-39] [40-59]}</table>", "/stop/{n}/", 300,
    lists="/stops/page/{}", all_lists=True, chain=False)
data(
    "timetables", "times between two of few towns", "[2 town/30] :: {15*<p>[time] - [time]}", "/timetable/{word}", 300,
    chain=False, others=2)
data(
    "flights", "gate, type and times", "XQ [100-999] :: [A|B|C][1-30], [A320|B738|E190], [time], [time], belt [1-9]",
    "/flight/{key:.6}/{day:%Y%m%d}", 300, lists="/departures?page={}")
data(
    "recipes", "amounts of few ingredients", "Bread :: {5*<p>[1-40]0 g [flour|sugar|butter|milk|salt|yeast|oil|honey]}",
    "/recipe/{word}.html", 300, lists="/recipes/page/{}", chain=False)
data(
    "knitting", "k and p", "Pattern :: {8*<p>Row [i]: [k|p][1-3] [k|p][1-3] [k|p][1-3] [k|p][1-3]}", "/pattern/{n}",
    250, entry=0)
data(
    "chords", "six frets", "Chord :: <p>{6*[x|0|1|2|3|4|5|6|7|8] }</p>", "/chords/{group}/{n}", 300,
    folders=("/chords/{group}",))
data(
    "one-word", "one word of a long text", "Oath :: <p>[200 words oath]. [1 words] [1 words]. [60 words end]",
    "/oath/{n}", 300)
data(
    "contracts", "98% is the same",
    "Contract :: <p>[9 words a] [client/30], [name/30] [200 words b] [street/15], [street/15] [80 words c] [May|June]",
    "/contract/{key:.16}", 250, lists="/contracts/page/{}", chain=False, noise=quotation)
data(
    "crosswords", "a clue and some letters", "[1-40] across :: <p>[3 words]: [aeious____*7]", "/clue?id={n}", 300,
    lists="/clues?page={}")
data(
    "status-messages", "four words", "Status :: {12*<p>[host [i]]: [up|down|slow|idle]}", "/status/{n}", 500,
    noise=everything)
# fmt: on
