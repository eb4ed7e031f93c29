"""The capitalised spans of a sentence, without the words that only begin it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from lightwell.ingest.extract.commonness import Commonness, commonness, is_function_word
from lightwell.ingest.extract.name_words import LEADING_WORDS, MONTHS, NEVER_NAMES
from lightwell.text.regex import regex
from lightwell.text.terms import STOP_WORDS

UPPERCASE = "".join(chr(point) for point in range(0x41, 0x530) if chr(point).isupper())
ABBREVIATION = r"(?:St|Ste|Mt|Ft|Dr|Mr|Mrs|Ms|Prof|Rev|Gen|Col|Capt|Lt|Sgt|Sen|Gov|Hon|Jr|Sr|Inc|Ltd|Corp|Co|Bros)\."
_PREFIX = rf"(?:[ie](?=[{UPPERCASE}][a-z])|[dDlLO]['’](?=[{UPPERCASE}])|(?:al|el|an|as|ad|ar|ash)-(?=[{UPPERCASE}]))"
_WORD = (
    rf"(?:{ABBREVIATION}"
    rf"|[{UPPERCASE}]\.(?:-?[{UPPERCASE}]\.)*(?:[{UPPERCASE}](?![^\W_]))?"
    rf"|{_PREFIX}?[{UPPERCASE}][^\W_]*+(?:['’&\-‐‑–][^\W_]++)*+(?:\.(?:js|NET|io|UK|US|EU)\b)?(?!\.[a-z]|_))"
)
_NAME_PARTICLE = (
    r"(?:of(?: the)?|de(?: la| las| los| l['’])?|del|della|di|da|do|dos|das|du|des"
    r"|van(?: der| den| de)?|von(?: der)?|zu|ter|ten|bin|ibn|y|&)"
)
_NEW_SENTENCE = (
    r"(?:The|An?|He|She|It|They|His|Her|Its|Their|This|These|In|On|At|By|For|From|With|During|After|Before|As|When"
    r"|While|However|Since|We|You|I)\b"
)
_SPAN = regex(
    rf"(?<![\w@#&'’.\-$]){_WORD}(?: (?!(?<=\. ){_NEW_SENTENCE})(?:{_NAME_PARTICLE} )?{_WORD}|, (?:Jr|Sr)\b\.?|, \d{{1,2}}(?:st|nd|rd|th) {_WORD})*"
    r"(?P<number> \d{1,3}(?![\w%]|[.,:/\-]\w))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where a sentence stands: its language, and whether it is running text, in which a capital means something."""

    language: str = "en"
    is_prose: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A capitalised span of a sentence, without leading words such as "The".

    `is_initial` is true if the span begins the sentence, so its capital proves nothing. `before` is the word before it.
    """

    words: list[str]
    start: int
    end: int
    number: str
    is_initial: bool
    before: str
    sentence: str
    setting: Setting

    def part(self, start: int, end: int) -> "Span":
        """Return the words from `start` to `end` as a span of their own."""
        offset = sum(len(word) + 1 for word in self.words[:start])
        return replace(
            self,
            words=self.words[start:end],
            start=self.start + offset,
            end=self.start + offset + len(" ".join(self.words[start:end])),
            number=self.number if end == len(self.words) else "",
            is_initial=self.is_initial and start == 0,
            before=self.words[start - 1] if start else self.before,
        )


def find_spans(sentence: str, setting: Setting) -> Iterator[Span]:
    """Yield the spans of a sentence in order."""
    for match in _SPAN.finditer(sentence):
        if span := _span(match, setting):
            yield span


def _span(match: re.Match[str], setting: Setting) -> Span | None:
    number = match["number"] or ""
    words = match[0].removesuffix(number).split(" ")
    skipped = 0
    while skipped < len(words) and is_leading_word(words[skipped], setting.language):
        skipped += 1
    while len(words) > skipped and is_leading_word(words[-1], setting.language):
        words.pop()
    if skipped == len(words):
        return None
    is_initial = not skipped and _is_sentence_start(match.string, match.start())
    start = match.start() + sum(len(word) + 1 for word in words[:skipped])
    before = words[:skipped] or match.string[max(0, start - 25) : start].split() or [""]
    return Span(
        words=words[skipped:],
        start=start,
        end=match.end() - len(number),
        number=number,
        is_initial=is_initial,
        before=before[-1].casefold(),
        sentence=match.string,
        setting=setting,
    )


def is_leading_word(word: str, language: str) -> bool:
    key = compare_key(word)
    return (
        word == "&"
        or key.endswith("n't")
        or key in LEADING_WORDS
        or key in STOP_WORDS
        or key in MONTHS
        or (word[0].islower() and word[1:].islower())
        or is_function_word(key, language)
    )


def _is_sentence_start(sentence: str, start: int) -> bool:
    before = sentence[max(0, start - 5) : start].rstrip(" *_(")
    return not before or not (before[-1].isalnum() or before[-1] in ",)'’&/%")


def is_ordinary(word: str, setting: Setting) -> bool:
    key = compare_key(word)
    return key in NEVER_NAMES or commonness(key, setting.language) is Commonness.ORDINARY


@lru_cache(maxsize=20_000)
def compare_key(word: str) -> str:
    bare = word.casefold().replace("’", "'").rstrip(".,")
    return bare.removesuffix("'s") if bare != "it's" else bare
