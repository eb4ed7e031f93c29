"""Finds names in a sentence: capitalised spans, split where they contain several names."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise

from lightwell.text.dates import ENGLISH_MONTHS, ENGLISH_MONTHS_SHORT

_UPPERCASE = "".join(chr(point) for point in range(0x41, 0x530) if chr(point).isupper())
_ABBREVIATION = r"(?:St|Ste|Mt|Ft|Dr|Mr|Mrs|Ms|Prof|Rev|Gen|Col|Capt|Lt|Sgt|Sen|Gov|Hon|Jr|Sr|Inc|Ltd|Corp|Co|Bros)\."
_PREFIX = rf"(?:[ie](?=[{_UPPERCASE}][a-z])|[dDlLO]['’](?=[{_UPPERCASE}])|(?:al|el|an|as|ad|ar|ash)-(?=[{_UPPERCASE}]))"
_WORD = (
    rf"(?:{_ABBREVIATION}"
    rf"|[{_UPPERCASE}]\.(?:-?[{_UPPERCASE}]\.)*(?:[{_UPPERCASE}](?![^\W_]))?"
    rf"|{_PREFIX}?[{_UPPERCASE}][^\W_]*+(?:['’&\-‐‑–][^\W_]++)*+(?:\.(?:js|NET|io|UK|US|EU)\b)?(?!\.[a-z]))"
)
_NAME_PARTICLE = (
    r"(?:of(?: the)?|de(?: la| las| los| l['’])?|del|della|di|da|do|dos|das|du|des"
    r"|van(?: der| den| de)?|von(?: der)?|zu|ter|ten|bin|ibn|y|&)"
)
_NEW_SENTENCE = (
    r"(?:The|An?|He|She|It|They|His|Her|Its|Their|This|These|In|On|At|By|For|From|With|During|After|Before|As|When"
    r"|While|However|Since|We|You|I)\b"
)
_SPAN = re.compile(
    rf"(?<![^\W_])(?<![@#&'’.\-]){_WORD}(?: (?!(?<=\. ){_NEW_SENTENCE})(?:{_NAME_PARTICLE} )?{_WORD}|, (?:Jr|Sr)\b\.?|, \d{{1,2}}(?:st|nd|rd|th) {_WORD})*"
    r"(?P<number> \d{1,3}(?![\w%]|[.,:/\-]\d))?"
)
_CONNECTORS = frozenset((" - ", " the ", " a ", " for ", " for the "))
_WEAK_CONNECTORS = frozenset(
    f" {link}{article} "
    for link in ("in", "on", "to", "with", "at", "from", "by", "as", "or")
    for article in ("", " the", " a")
)
_BEFORE_PLACE = re.compile(
    r"(?:\b(?:in|at|near|from|of|to|around|outside|central|downtown)|[;(]) ?$|ern $"
)
_YEAR = re.compile(r"\b(?:the|at|of|a) (?:1[5-9]|20)\d\d $")
_MAX_ACRONYM = 10
_UPPER = re.compile(rf"[{_UPPERCASE}]{{2,}}[0-9]*s?$|[{_UPPERCASE}]&[{_UPPERCASE}]$")
_ROMAN = re.compile(r"[IVXLC]+$")

_LEADING_WORDS = frozenset(
    """a an the this that these those some any each every in on at by for from with without of to as into onto upon
    via per after before during since until till while when where whereas who whom whose which what why how if
    unless although though because and or but nor so yet then thus hence however therefore moreover furthermore
    meanwhile nevertheless also besides instead indeed he she it they we you i his her its their our your my here
    there is are was were be been do does did has have had can could should would might must let let's lets not
    now just even still often later earlier recently currently today originally initially eventually finally
    previously subsequently according despite unlike including among between within through throughout against
    about around along near across hey hi hello dear thanks thank yes yeah yep ok okay sure please sorry wow oh ah
    haha lol well maybe see ask tell i'm i'll i've i'd it's he's she's that's we're they're you're""".split()
)
_NEVER_NAMES = frozenset((*ENGLISH_MONTHS, *ENGLISH_MONTHS_SHORT)) | frozenset(
    """sept monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri
    sat sun am pm bc ad bce ce ok lol omg btw fyi imo tbd todo n/a na etc eg ie mr mrs ms dr st jr sr no vol i ii iii
    iv vi vii viii ix xi xii me my mine myself him himself herself us ours ourselves them themselves yourself god
    tonight tomorrow yesterday new id ids ip url urls ui pr prs faq faqs pdf""".split()
)
_ADJECTIVES = frozenset(
    """african american arab arabic asian australian austrian belgian brazilian british bulgarian canadian catholic
    caribbean chinese christian croatian cuban czech danish dutch egyptian english european finnish french german
    greek hungarian indian indonesian iranian iraqi irish islamic israeli italian jamaican japanese jewish korean
    latin lebanese malaysian mexican muslim nigerian norwegian pakistani persian philippine polish portuguese roman
    romanian russian scottish serbian soviet spanish swedish swiss thai turkish ukrainian victorian vietnamese
    welsh western eastern northern southern""".split()
)
_TITLES = frozenset("mr mrs ms dr prof professor".split())
"""These announce a person even before a single word; other courtesy titles need two or more words."""

_COURTESY = _TITLES | frozenset("miss rev reverend sir madam dame hon".split())
_OFFICES = frozenset(
    """president senator governor chancellor colonel lieutenant sergeant congressman congresswoman mayor
    minister secretary chairman chairwoman ceo cto cfo""".split()
)
_OFFICE_PAIRS = frozenset((("minister", "prime"), ("president", "vice")))
_COMPANY_SUFFIXES = frozenset(
    "inc ltd llc llp gmbh corp plc ag kg bv nv oy ab sarl srl spa limited corporation incorporated".split()
)
_INSTITUTION_WORDS = frozenset(
    """university college institute ministry department association society company foundation committee council
    commission agency bureau bank records party museum""".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A name in a sentence; `start` is its character offset.

    `is_main` is true for the whole span and false for alternative readings. `is_certain` is false for one common word
    that may be capitalised only because it begins the sentence.
    """

    text: str
    kind: str
    start: int
    is_main: bool = True
    is_certain: bool = True


@cache
def common_words() -> frozenset[str]:
    """Return some five thousand English words that running text writes in lower case."""
    page = resources.files("lightwell.ingest.extract").joinpath("common_words.txt")
    return frozenset(page.read_text(encoding="utf-8").split())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """A capitalised span of a sentence, without leading words such as "The".

    `led` holds these leading words. `initial` is true if the span begins the sentence, so its capital proves nothing.
    """

    words: list[str]
    led: list[str]
    start: int
    end: int
    number: str
    initial: bool
    sentence: str


def find_names(sentence: str) -> list[Name]:
    """Return the names of one sentence in order, each followed by its alternative readings."""
    spans = [span for match in _SPAN.finditer(sentence) if (span := _span(match))]
    found: list[Name] = []
    for span in spans:
        found.extend(_interpretations(span))
    for one, other in pairwise(spans):
        if _may_be_one_name(one, other):
            text = _trim([sentence[one.start : other.end]])
            found.append(Name(text=text, kind="name", start=one.start, is_main=False))
    return found


def _span(match: re.Match[str]) -> _Span | None:
    number = match["number"] or ""
    words = match[0].removesuffix(number).split(" ")
    at = 0
    while at < len(words) and _is_leading_word(words[at]):
        at += 1
    if at == len(words):
        return None
    led = words[:at]
    return _Span(
        words=words[at:],
        led=led,
        start=match.start() + sum(len(word) + 1 for word in led),
        end=match.end() - len(number),
        number=number,
        initial=_is_sentence_start(match.string, match.start()),
        sentence=match.string,
    )


def _is_leading_word(word: str) -> bool:
    return _compare_key(word) in _LEADING_WORDS or (word[0].islower() and word[1:].islower())


def _is_sentence_start(sentence: str, start: int) -> bool:
    before = sentence[max(0, start - 5) : start].rstrip(" *_([")
    return not before or not (before[-1].isalnum() or before[-1] in ",)'’&/%")


def _interpretations(span: _Span) -> Iterator[Name]:
    if len(span.words) == 1:
        yield from _one_word_names(span)
    else:
        yield from _many_word_names(span)
    if span.led and not span.initial:
        yield _alternative([*span.led, *span.words], span)
    if span.number and not _is_common(_compare_key(span.words[0])):
        yield _alternative([*span.words, span.number.strip()], span)


def _alternative(words: Sequence[str], span: _Span) -> Name:
    return Name(text=_trim(words), kind="name", start=span.start, is_main=False)


def _one_word_names(span: _Span) -> Iterator[Name]:
    text, key = _trim(span.words), _compare_key(span.words[0])
    if len(text) < 2 or key in _NEVER_NAMES or _is_adjective(key, span.sentence[span.end :][:2]):
        return
    if _UPPER.match(text):
        if key not in common_words() and not _ROMAN.match(text) and len(text) <= _MAX_ACRONYM:
            yield Name(text=text, kind="term", start=span.start)
        return
    doubtful = span.initial and not span.led and key in common_words()
    yield Name(text=text, kind="name", start=span.start, is_certain=not doubtful)


def _is_adjective(key: str, after: str) -> bool:
    return key in _ADJECTIVES and after[:1] == " " and after[1:].islower()


def _many_word_names(span: _Span) -> Iterator[Name]:
    words = span.words
    if all(_compare_key(word) in _NEVER_NAMES for word in words):
        return
    person = _titled_person_range(words)
    if person:
        yield from _titled_person_names(span, *person)
        return
    kind = _name_kind(words)
    yield Name(text=_trim(words), kind=kind, start=span.start)
    if _compare_key(words[-1]) in _COMPANY_SUFFIXES:
        bare = _trim(words[:-1])
        yield Name(text=bare, kind=kind, start=span.start, is_main=False)
    if span.initial and not span.led and _compare_key(words[0]) in common_words():
        yield from _part_name(words[1:], span)
    if _YEAR.search(span.sentence[max(0, span.start - 9) : span.start]):
        yield _alternative([span.sentence[span.start - 5 : span.start - 1], *words], span)
    yield from _part_names(span)


def _titled_person_range(words: list[str]) -> tuple[int, int] | None:
    """Return the range of words that name a person after a title or an office, such as "Dr" or "President"."""
    for at, word in enumerate(words[:-1]):
        key = _compare_key(word)
        if (
            key in _COURTESY
            or key in _OFFICES
            or (key, _compare_key(words[at - 1])) in _OFFICE_PAIRS
        ):
            end = words.index("of", at) if "of" in words[at:] else len(words)
            if end - at > (1 if key in _TITLES else 2):
                return at + 1, end
    return None


def _titled_person_names(span: _Span, start: int, end: int) -> Iterator[Name]:
    yield Name(text=_trim(span.words[start:end]), kind="person", start=span.start)
    if start > 1 and _compare_key(span.words[start - 2]) not in _OFFICES:
        yield from _part_name(span.words[: start - 1], span)
    yield from _after_of(span.words, end, span)


def _name_kind(words: Sequence[str]) -> str:
    first, last = _compare_key(words[0]), _compare_key(words[-1])
    is_body = last in _COMPANY_SUFFIXES or first in _INSTITUTION_WORDS or last in _INSTITUTION_WORDS
    return "organization" if is_body else "name"


def _part_names(span: _Span) -> Iterator[Name]:
    """Yield the parts on either side of a possessive or `of`, and before a comma ("..., Jr.")."""
    words = span.words
    for at, word in enumerate(words[:-1]):
        if word.endswith(("'s", "’s")):
            yield from _part_name(words[: at + 1], span)
            yield from _part_name(words[at + 1 :], span)
        elif word == "of":
            if at > 1 and not _is_common(_compare_key(words[at - 1])):
                yield from _part_name(words[:at], span)
            yield from _after_of(words, at, span)
        elif word.endswith(","):
            yield from _part_name(words[: at + 1], span)


def _after_of(words: list[str], at: int, span: _Span) -> Iterator[Name]:
    yield from _part_name(words[at + 1 :], span)


def _part_name(words: list[str], span: _Span) -> Iterator[Name]:
    words = words[
        next((at for at, word in enumerate(words) if not _is_leading_word(word)), len(words)) :
    ]
    if words and len(words[0]) > 1 and not all(_is_common(_compare_key(word)) for word in words):
        yield _alternative(words, span)


def _may_be_one_name(one: _Span, other: _Span) -> bool:
    """Return whether two spans may be one name: "Leland, North Carolina", "Gone with the Wind"."""
    gap = one.sentence[one.end : other.start - sum(len(word) + 1 for word in other.led)]
    last, first = _compare_key(one.words[-1]), _compare_key(other.words[0])
    if last in _NEVER_NAMES or first in _NEVER_NAMES:
        return False
    if gap == ", ":
        return bool(_BEFORE_PLACE.search(one.sentence[max(0, one.start - 9) : one.start]))
    if gap == " and ":
        return (
            "of" in one.words
            or _name_kind(one.words) != "name"
            or _compare_key(other.words[-1]) in _INSTITUTION_WORDS
        )
    if gap in _CONNECTORS:
        return True
    return gap in _WEAK_CONNECTORS and last in common_words() and first in common_words()


def _is_common(key: str) -> bool:
    return key in _NEVER_NAMES or key in common_words()


def _compare_key(word: str) -> str:
    bare = word.casefold().replace("’", "'").rstrip(".,")
    return bare.removesuffix("'s") if bare != "it's" else bare


def _trim(words: Sequence[str]) -> str:
    return " ".join(words).rstrip(",&-–").removesuffix("'s").removesuffix("’s")
