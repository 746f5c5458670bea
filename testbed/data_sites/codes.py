"""Identifiers, hashes, codes: records that have next to no word."""

from __future__ import annotations

from testbed.data_sites.noise import captcha, everything, made_in, secrets
from testbed.data_sites.registry import data

# A table: a kind takes few lines.
# fmt: off
data(
    "commits", "hashes, few files, a diffstat",
    "[#10] :: parent [#40]<br>tree [#40]{2*<p>src/[file/30].c +[1-40] -[1-40]}", "/commit/{key}", 400)
data("objects", "a hash under another", "Object :: <pre>[#40]</pre>", "/object/{key:.2}/{key:.38}", 300, others=2)
data(
    "checksums", "hashes of parts", "SHA256SUMS :: <pre>{12*[#64]  part[i].bin\n}</pre>", "/sums/{n}.html", 250,
    lists="/sums/page/{}")
data(
    "hex-dumps", "bytes", "Dump :: <pre>{16*{}}</pre>".replace("{}", "[#4] [#4] [#4] [#4]\n"), "/dump?offset={n}", 300,
    entry=0)
data(
    "part-numbers", "letters and digits",
    "[A|B|C|K][100-999]-[10-99][R|S] :: {3*<p>[A|B|C|K][100-999]-[10-99]}M[3-8]x[10-60]", "/parts/{key:.5}-{key:.3}",
    500, lists="/parts?page={}", chain=False)
data("genes", "four letters", "ENSG[n] :: <pre>{10*[acgt*60]\n}</pre>", "/seq/{key:.9}", 300, others=3, chain=False)
data(
    "cross-references", "identifiers in other data bases",
    "[1 words] :: HGNC:[1000-9999] MIM:[100000-999999] GeneID:[1000-99999]", "/gene?id={n}", 300,
    lists="/genes?page={}", noise=made_in)
data("bits", "ones and zeros", "Word :: <pre>{4*[01*16]\n}</pre>", "/bits/{n}", 256, entry=0)
data(
    "morse", "dots and dashes", "Say it :: <p>{20*[.|-][.|-][.|-||] }", "/morse/{word}", 300, lists="/morse/page/{}",
    chain=False)
data("tunes", "notes as letters", "Tune :: <pre>X:1\nK:D\n{8*[ABcdefg*6] | }</pre>", "/abc/{n}", 300, noise=captcha)
data(
    "colors", "three numbers, and a bar in the color",
    "Color :: <div style='background:#[#6]'>&nbsp;</div>[0-255], [0-255], [0-255]", "/color/{key:.6}", 400, others=3,
    chain=False)
data(
    "error-codes", "a sentence of few words",
    "0x[#8] :: The [file|volume|thread] [was not|cannot be|is] [found|open|locked] [0-99].", "/errors/0x{n:08x}.html",
    300, lists="/errors/page/{}")
data(
    "standards", "number, year and class", "Standard [n] :: [1960-2024], [1-99].[10-900], [4-300] p., [30-300].00",
    "/std/{n}:2{n:03}", 300, folders=("/std/list-{group}",), chain=False)
data("patents", "numbers", "US4[n] :: {8*<p>US3[100000-999999]}", "/patent?number={n}", 300, others=2, noise=secrets)
data(
    "call-numbers", "shelf marks", "Holding :: {3*<p>[QA|QB|PN|HV] [1-999].[B|K|M|T][1-99] [1930-2023]}",
    "/shelf/{group}/{key:.7}", 300, folders=("/shelf/{group}/",), chain=False)
data(
    "postal-codes", "a number and a place", "[n] :: [1 words], [0-9][10-99]", "/zip/{n:05}", 400, chain=False,
    folders=("/zip/{group}xx",))
data(
    "airports", "four letters and numbers",
    "[ABCDEFGHIKLMNO*3] :: [E|K|L][ABCDEFGHI*3], [0-4000] m, [1-36]/[1000-4000]", "/airport/{key:.4}", 300,
    lists="/airports?page={}", all_lists=True, chain=False)
data(
    "stations-by-sid", "a real identifier in a parameter called sid",
    "[1 words] :: [0-3000] m, since [1880-2020], [10000-99999]", "/station?sid={key:.32}", 300,
    lists="/stations?page={}", chain=False, noise=everything)
data(
    "threads-by-t", "a real number in a parameter called t", "Thread :: <p>[yes|no|ok|lol] [0-999] [time]",
    "/thread?t={n}", 400)
data(
    "goods-by-ref", "a real identifier in a parameter called ref", "Item :: [30-50], [0-90], [9-400].99",
    "/item?ref={key:.8}", 300, others=3, chain=False)
data(
    "sessions", "a path that looks like a session's", "Session :: [100-400], [0-40], [time], [time]",
    "/session;id={key:.24}", 250)
# fmt: on
