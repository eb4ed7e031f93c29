"""The sentences of a passage as the rules read them: without markup, and whether capitals mean something in them."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from lightwell.ingest.extract.patterns import PatternMatch, find_speaker
from lightwell.text.markup import strip_tags
from lightwell.text.regex import regex
from lightwell.text.sentences import split_sentences

_FENCE = regex(r"^[ \t]*(```|~~~)[^\n]*\n.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_SOFT_WRAP = regex(r"\n(?<=[^\n|]{50}[\w,;)]\n)(?=[^\W_][^\n|:]{2})")
_STYLE = regex(
    r"(?<![\w*])\*{1,3}(?=\S)|(?<=\S)\*{1,3}(?![\w*])|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)"
)
_STYLED = regex(r"[*_]")
_ATTRIBUTES = regex(r"\{[:#.][^{}\n]{0,200}\}")
_HEADING = regex(r"#{1,6} ")
_LINE_MARKS = regex(r"^(?:[#>*•+\-] *)+|^\d+[.)] +")
_LOWER_WORD = regex(r"(?<![\w.@/\-])[a-zß-öø-ÿ][a-zß-öø-ÿ]{2,}(?![\w@/])")
_END = (".", "!", "?", ":", ";", ",", ".)", "…", "”", '."')
_PROSE_WORDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence of a passage. Capitals in headings, labels and cells of tables mean nothing, so `is_prose` is false for these.

    `speaker` is set in the first sentence of a line of a chat.
    """

    text: str
    is_prose: bool
    is_heading: bool = False
    speaker: PatternMatch | None = None


def without_code(text: str) -> str:
    """Return a passage without its fenced code, tags and anchors."""
    prose = _FENCE.sub("\n", text)
    if "{" in prose or "<" in prose:
        prose = _ATTRIBUTES.sub("", strip_tags(prose))
    return prose


def read_sentences(prose: str, headings: Collection[str]) -> Iterator[Sentence]:
    """Yield the sentences of a passage; `headings` are those of its lines that parsers know to be headings."""
    for line in _SOFT_WRAP.sub(" ", prose).split("\n"):
        if not line.strip():
            continue
        is_heading = bool(_HEADING.match(line)) or line.strip() in headings
        bare = _LINE_MARKS.sub("", without_style(line))
        speaker = find_speaker(bare)
        is_table = bare.startswith("|")
        for sentence in split_sentences(bare[speaker.end :] if speaker else bare):
            yield Sentence(
                text=sentence,
                is_prose=not is_heading and not is_table and _is_prose(sentence),
                is_heading=is_heading,
                speaker=speaker,
            )
            speaker = None


def without_style(line: str) -> str:
    """Return a line without marks of emphasis and with single blanks; code keeps its backquotes."""
    bare = " ".join(line.split())
    return _STYLE.sub("", bare) if _STYLED.search(bare) else bare


def _is_prose(sentence: str) -> bool:
    if sentence[:1].islower() or sentence.endswith(_END):
        return True
    return len(_LOWER_WORD.findall(sentence)) >= _PROSE_WORDS
