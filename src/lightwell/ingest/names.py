"""Names in a sentence: capitalised spans, taken apart where they hold more than one."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise

_U = "".join(chr(point) for point in range(0x41, 0x530) if chr(point).isupper())
_ABBREVIATION = r"(?:St|Ste|Mt|Ft|Dr|Mr|Mrs|Ms|Prof|Rev|Gen|Col|Capt|Lt|Sgt|Sen|Gov|Hon|Jr|Sr|Inc|Ltd|Corp|Co|Bros)\."
_PREFIX = rf"(?:[ie](?=[{_U}][a-z])|[dDlLO]['’](?=[{_U}])|(?:al|el|an|as|ad|ar|ash)-(?=[{_U}]))"
_WORD = (
    rf"(?:{_ABBREVIATION}"
    rf"|[{_U}]\.(?:-?[{_U}]\.)*(?:[{_U}](?![^\W_]))?"
    rf"|{_PREFIX}?[{_U}][^\W_]*(?:['’&\-‐‑–][^\W_]+)*)"
)
_LINK = (
    r"(?:of(?: the)?|de(?: la| las| los| l['’])?|del|della|di|da|do|dos|das|du|des"
    r"|van(?: der| den| de)?|von(?: der)?|zu|ter|ten|bin|ibn|y|&)"
)
_SPAN = re.compile(
    rf"(?<![^\W_])(?<![@#&'’.\-]){_WORD}(?: (?:{_LINK} )?{_WORD}|, (?:Jr|Sr)\b\.?)*"
    r"(?P<number> \d{1,3}(?![\w%]|[.,:/\-]\d))?"
)
_LOOSE = re.compile(
    r" (?:and|for|in|on|to|with|at|from|by|the|a|an|or|as|(?:in|on|to|for|and|with|from|at|by) (?:the|a))"
    r" | [-–] |: |! "
)
_COMMA_PLACE = re.compile(r"\b(?:in|at|near|from|of|to|around|outside) $")
_UPPER = re.compile(rf"[{_U}]{{2,}}[0-9]*s?$|[{_U}]&[{_U}]$")
_ROMAN = re.compile(r"[IVXLC]+$")

_LEADING = frozenset(
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
_NEVER = frozenset(
    """january february march april may june july august september october november december jan feb mar apr jun jul
    aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri
    sat sun am pm bc ad bce ce ok lol omg btw fyi imo tbd todo n/a na etc eg ie mr mrs ms dr st jr sr no vol i ii iii
    iv vi vii viii ix xi xii me my mine myself him himself herself us ours ourselves them themselves yourself god
    tonight tomorrow yesterday""".split()
)
_ADJECTIVES = frozenset(
    """african american arab arabic asian australian austrian belgian brazilian british bulgarian canadian catholic
    caribbean chinese christian croatian cuban czech danish dutch egyptian english european finnish french german
    greek hungarian indian indonesian iranian iraqi irish islamic israeli italian jamaican japanese jewish korean
    latin lebanese malaysian mexican muslim nigerian norwegian pakistani persian philippine polish portuguese roman
    romanian russian scottish serbian soviet spanish swedish swiss thai turkish ukrainian victorian vietnamese
    welsh western eastern northern southern""".split()
)
_COURTESY = frozenset("mr mrs ms miss dr prof professor rev reverend sir madam dame hon".split())
_OFFICES = frozenset(
    """president senator governor chancellor colonel lieutenant sergeant congressman congresswoman mayor
    minister secretary chairman chairwoman ceo cto cfo""".split()
)
_COMPANY_ENDS = frozenset(
    "inc ltd llc llp gmbh corp plc ag kg bv nv oy ab sarl srl spa limited corporation incorporated".split()
)
_BODIES = frozenset(
    """university college institute ministry department association society company foundation committee council
    commission agency bureau bank records party museum""".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A name in a sentence, `start` characters in.

    A name is `main` when it is the span itself, not another reading of it; `sure` when it is more than
    one common word that may owe its capital to its place.
    """

    text: str
    kind: str
    start: int
    main: bool = True
    sure: bool = True


@cache
def common_words() -> frozenset[str]:
    """Return some five thousand English words that running text writes small."""
    page = resources.files("lightwell.ingest").joinpath("common_words.txt")
    return frozenset(page.read_text(encoding="utf-8").split())


def names(sentence: str) -> list[Name]:
    """Return the names of one sentence in order, each followed by its other readings."""
    found: list[Name] = []
    spans: list[tuple[int, int]] = []
    for match in _SPAN.finditer(sentence):
        start, end = match.span()
        spans.append((start, match.start("number") if match["number"] else end))
        found.extend(_readings(match, initial=_opens(sentence, start)))
    found.extend(_joined(sentence, spans))
    return found


def _opens(sentence: str, start: int) -> bool:
    before = sentence[max(0, start - 5) : start].rstrip(" *_([")
    return not before or not (before[-1].isalnum() or before[-1] in ",)'’&/%")


def _readings(match: re.Match[str], *, initial: bool) -> Iterator[Name]:
    number = match["number"] or ""
    words = match[0].removesuffix(number).split(" ")
    rest = _without_leading(words)
    if not rest:
        return
    start = match.start() + len(" ".join(words)) - len(" ".join(rest))
    led = len(rest) < len(words)
    if led and not initial and len(words) > 1:
        yield Name(text=_trimmed(words), kind="name", start=match.start(), main=False)
    if number and not _is_common(_key(rest[0])):
        yield Name(text=_trimmed(rest) + number, kind="name", start=start, main=False)
    if len(rest) == 1:
        yield from _single(rest[0], start, match, initial=initial and not led)
    else:
        yield from _several(rest, start, initial=initial and not led)


def _without_leading(words: list[str]) -> list[str]:
    at = 0
    while at < len(words) and (_key(words[at]) in _LEADING or words[at][:1].islower()):
        if words[at][1:2] and words[at][1].isupper() and words[at][0] in "ie":
            break
        at += 1
    return words[at:]


def _single(word: str, start: int, match: re.Match[str], *, initial: bool) -> Iterator[Name]:
    text, key = _trimmed([word]), _key(word)
    if len(text) < 2 or key in _NEVER or _is_adjective(key, match.string[match.end() :][:2]):
        return
    if _UPPER.match(text):
        if key not in common_words() and not _ROMAN.match(text) and len(text) <= 10:
            yield Name(text=text, kind="term", start=start)
        return
    yield Name(text=text, kind="name", start=start, sure=not (initial and key in common_words()))


def _is_adjective(key: str, after: str) -> bool:
    return key in _ADJECTIVES and after[:1] == " " and after[1:].islower()


def _several(words: list[str], start: int, *, initial: bool) -> Iterator[Name]:
    person = _person(words)
    if person:
        yield Name(text=_trimmed(person), kind="person", start=start)
        yield from _remainder(words, person, start)
        return
    if all(_key(word) in _NEVER for word in words):
        return
    text = _trimmed(words)
    kind = _kind(words)
    yield Name(text=text, kind=kind, start=start)
    if kind == "organization" and _key(words[-1]) in _COMPANY_ENDS:
        yield Name(text=_trimmed(words[:-1]).rstrip(","), kind=kind, start=start, main=False)
    if initial and _key(words[0]) in common_words():
        yield Name(text=_trimmed(words[1:]), kind="name", start=start, main=False)
    yield from _parts(words, start)


def _person(words: list[str]) -> list[str]:
    """Return the words of the person whom courtesy or office announces, or []."""
    at = 0
    while at < len(words) and _key(words[at]) in _COURTESY:
        at += 1
    least = 1 if at else 2
    if not at:
        at = _office(words)
    person: list[str] = []
    for word in words[at:]:
        if word == "of":
            break
        person.append(word)
    return person if at and len(person) >= least else []


def _office(words: list[str]) -> int:
    if [_key(word) for word in words[:2]] in (["vice", "president"], ["prime", "minister"]):
        return 2
    return int(_key(words[0]) in _OFFICES)


def _remainder(words: list[str], person: list[str], start: int) -> Iterator[Name]:
    rest = words[words.index("of") + 1 :] if "of" in words else []
    rest = rest[1:] if rest[:1] == ["the"] else rest
    if rest and rest != person:
        yield Name(text=_trimmed(rest), kind="name", start=start)


def _kind(words: Sequence[str]) -> str:
    if _key(words[-1]) in _COMPANY_ENDS:
        return "organization"
    edges = {_key(words[0]), _key(words[-1])}
    return "organization" if edges & _BODIES else "name"


def _parts(words: list[str], start: int) -> Iterator[Name]:
    """Yield what stands on either side of a possessive, and what follows an `of`."""
    for at, word in enumerate(words[:-1]):
        if word.endswith(("'s", "’s")):
            yield from _part(words[: at + 1], start)
            yield from _part(words[at + 1 :], start)
        elif word == "of":
            after = words[at + 1 :]
            yield from _part(after[1:] if after[0] == "the" else after, start)


def _part(words: list[str], start: int) -> Iterator[Name]:
    text = _trimmed(words)
    single = len(words) == 1
    if len(text) > 1 and not (single and _is_common(_key(text))):
        yield Name(text=text, kind="name", start=start, main=False)


def _joined(sentence: str, spans: list[tuple[int, int]]) -> Iterator[Name]:
    """Yield spans joined over small words ("Gone with the Wind") and places ("Leland, North Carolina")."""
    for (start, end), (after, last) in pairwise(spans):
        gap = sentence[end:after]
        if gap == ", ":
            place = _COMMA_PLACE.search(sentence[max(0, start - 9) : start])
            if place:
                yield Name(text=sentence[start:last], kind="name", start=start, main=False)
        elif _LOOSE.fullmatch(gap):
            yield Name(text=sentence[start:last], kind="name", start=start, main=False)


def _is_common(key: str) -> bool:
    return key in _NEVER or key in common_words()


def _key(word: str) -> str:
    bare = word.casefold().replace("’", "'").rstrip(".,")
    return bare.removesuffix("'s") if bare != "it's" else bare


def _trimmed(words: Sequence[str]) -> str:
    text = " ".join(words).rstrip(",&-–")
    if text.endswith(("'s", "’s")):
        return text[:-2]
    return text
