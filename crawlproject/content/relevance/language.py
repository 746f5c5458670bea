"""Determines the language of a text by its most frequent words; if there are too few, by the page's declaration.

It decides which stemmer and which table of document frequencies apply to words that are not Chinese.  What pages
declare is often the default of the software that made them, so the text goes first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Words examined, at the start of a text.
_SAMPLE = 2_000
#: Function words that decide.
_ENOUGH = 8

#: ISO 639-1 -> the name of its stemmer.
_STEMMERS = """
ar:arabic ca:catalan da:danish de:german el:greek en:english es:spanish et:estonian eu:basque fi:finnish
fr:french ga:irish hi:hindi hu:hungarian hy:armenian id:indonesian it:italian lt:lithuanian nb:norwegian
ne:nepali nl:dutch nn:norwegian no:norwegian pt:portuguese ro:romanian ru:russian sr:serbian sv:swedish ta:tamil
tr:turkish yi:yiddish
"""
SNOWBALL = dict(pair.split(":") for pair in _STEMMERS.split())

#: Frequent words; several languages may share one.
_FUNCTION_WORDS = {
    "ca": "el la els les de del i que en per amb una és no als són aquest com",
    "da": "og i at det en den til er som på de med der af for ikke et har",
    "de": "der die und das in den von zu mit ist sich des auf für nicht ein eine dem wird werden",
    "el": "και το του η την να της από με για είναι στο τα που",
    "en": "the of and to a in is that for it be as with are this by on or not you",
    "es": "de la que el en y los se del las un por con una para no es al",
    "fi": "ja on ei että se hän oli ovat mutta niin myös tai joka kun kuin",
    "fr": "de la le et les des en un du une est que pour dans par sur pas au ne vous",
    "hi": "के में है की और से का को पर हैं",
    "hu": "a az és hogy nem egy is ez van meg de csak mint volt",
    "id": "yang dan di untuk dengan dari ini itu adalah tidak pada dalam",
    "it": "di e il la che in un per è una del non con della sono le da si",
    "lt": "ir yra kad su iš tai į ne bei kaip bet kuris",
    "nl": "de het een van en in is dat op te zijn voor met niet aan er om",
    "no": "og i det på som er en til å av for at med ikke har den de et",
    "pt": "de a o que e do da em um para com uma os não no na por as",
    "ro": "de și în a la cu pe un nu este o din care să mai pentru",
    "ru": "и в не на что с по как для от это из к или при",
    "sr": "и је у да се на са за од који је су",
    "sv": "och i att det som en på är av för med till den inte har ett om",
    "tr": "ve bir bu için ile da de olarak olan daha çok gibi değil",
}
_LANGUAGES: dict[str, tuple[str, ...]] = {}
for _language, _words in _FUNCTION_WORDS.items():
    for _word in dict.fromkeys(_words.split()):
        _LANGUAGES[_word] = (*_LANGUAGES.get(_word, ()), _language)

#: Words that say nothing, in languages without a table of document frequencies.
FUNCTION_WORDS = frozenset(_LANGUAGES)

_declared = re.compile(r"<html\b[^>]{0,1000}?\blang\s{0,20}=\s{0,20}[\"']?([A-Za-z]{2,3})", re.IGNORECASE).search
#: Characters of a page in which its declaration is looked for.
_HEAD = 4_096


def declared_language(html: str) -> str:
    """The language in the ``lang`` attribute of a page, as in ISO 639-1 if it has such a code; "" without one. O(1)."""
    found = _declared(html[:_HEAD])
    return found[1].lower() if found else ""


def language_of(words: Sequence[str], declared: str = "") -> str:
    """The language of a text given by its ``folded`` words, as in ISO 639-1; "en" if it is unknown. O(1).

    Chinese is never returned: ``words_of`` recognises it by its script, also within other languages.
    """
    votes: dict[str, int] = {}
    for word in words[:_SAMPLE]:
        for language in _LANGUAGES.get(word, ()):
            votes[language] = votes.get(language, 0) + 1
    best = max(votes, key=votes.__getitem__, default="")
    if votes.get(best, 0) >= _ENOUGH:
        return best if votes.get(declared, 0) < votes[best] else declared  # Norwegian and Danish share most
    return declared if declared in SNOWBALL else best or "en"
