"""Answers as markdown, for clients that render it: what documents and models wrote is text in it, and the only links are citations."""

from collections.abc import Sequence
from itertools import accumulate
from urllib.parse import urlsplit

from lightwell.domain.answers import Answer, Citation, CitedSentence, StreamChunk
from lightwell.entrypoints.sources import nearest_line
from lightwell.text.markup import AROUND_ADDRESSES, is_address
from lightwell.text.regex import regex

_PART = regex(r"(?<!`)`[^`|\n]+`(?!`)|[^\s`|]+|[`|]")
"""Code between backquotes, a run of other signs, or a sign that stands alone."""
_SIGN = regex(r"[\\`\[\]<|]|&(?=[#\w])|~(?=~~)")
_TITLE_SIGN = regex(r"[\\`\[\]<\"]|&(?=[#\w])|~(?=~~)")
_ADDRESS_SIGN = regex(r"[\\`\[\]<\"&~/:.@]")
_LINKED = frozenset({"http", "https", "file", "upload"})


def render_answer(answer: Answer, server: str = "") -> str:
    """Return an answer's text and what belongs below it: links lead to the server of this address, or to the sources."""
    return _render_text(answer) + render_rest(answer, server)


def render_rest(answer: Answer, server: str = "") -> str:
    """Return what stands below an answer's text: the link definitions of its citations; what a refusal is nearest to, and which words nothing mentions."""
    lines = [escape(line) for line in (nearest_line(answer.nearest), *answer.notes) if line]
    refused = "".join(f"\n\n{line}" for line in lines) if answer.nearest else ""
    return refused + link_definitions(answer, server)


def render_token(event: StreamChunk) -> str:
    """Return the content of a token."""
    if event.sentence is None:
        return escape(event.content)
    before = event.content.removesuffix(event.sentence.marked_text)
    return before + _render_sentence(event.sentence)


def sentence_spans(answer: Answer) -> Sequence[tuple[int, int]]:
    """Return where each sentence with its citation numbers stands in the rendered text: start and end characters, in order."""
    lengths = [len(_render_sentence(sentence)) for sentence in answer.sentences]
    begin = len(answer.lines_before)
    starts = accumulate((length + len("\n") for length in lengths), initial=begin)
    return [(start, start + length) for start, length in zip(starts, lengths, strict=False)]


def link_definitions(answer: Answer, server: str = "") -> str:
    """Return the link definitions of an answer's marks, after an empty line; "" for an answer without citations.

    A citation whose URL is none that a link may lead to has none: its mark stays text.
    """
    lines = [
        f'{citation.id}: <{_url(citation, server)}> "{_escape_title(citation_title(citation))}"'
        for citation in answer.citations
        if may_be_linked(citation, server)
    ]
    return "\n\n" + "\n".join(lines) if lines else ""


def may_be_linked(citation: Citation, server: str = "") -> bool:
    """Return whether the citation's URL is one of the web or of a file, which opens a document and runs nothing."""
    return urlsplit(_url(citation, server)).scheme.lower() in _LINKED


def citation_title(citation: Citation) -> str:
    """Return the title with the page on one line, and a word where somebody handed the passage in."""
    page = citation.locator.page
    where = f", page {page}" if page is not None else ""
    supplied = " (supplied by hand)" if citation.is_supplied else ""
    return " ".join(f"{citation.document_title}{where}{supplied}".split())


def escape(text: str) -> str:
    """Return markdown that shows this text: nothing in it is a link, an image or HTML.

    What programs make links of, such as URLs, becomes code, because some of them do so whatever is escaped.
    """
    return _PART.sub(lambda match: _escape_part(match[0]), text)


def _escape_part(part: str) -> str:
    if part.startswith("`") and len(part) > 1:
        return part
    if is_address(part) and (address := part.strip(AROUND_ADDRESSES)):
        before, _, after = part.partition(address)
        if after.startswith(")") and address.count("(") > address.count(")"):
            address, after = address + ")", after[1:]
        return f"{_escape_signs(before)}`{address}`{_escape_signs(after)}"
    return _escape_signs(part)


def _escape_signs(text: str) -> str:
    return _SIGN.sub(r"\\\g<0>", text)


def _escape_title(title: str) -> str:
    """Return a title that is text also for programs that take its definition for a paragraph: some know no links to files."""
    return " ".join(
        (_ADDRESS_SIGN if is_address(word) else _TITLE_SIGN).sub(r"\\\g<0>", word)
        for word in title.split()
    )


def _render_text(answer: Answer) -> str:
    if not answer.sentences:
        return escape(answer.text)
    return answer.lines_before + "\n".join(map(_render_sentence, answer.sentences))


def _render_sentence(sentence: CitedSentence) -> str:
    return f"{escape(sentence.text)} {sentence.marks}"


def _url(citation: Citation, server: str) -> str:
    """Return the URL so that it cannot end the definition that it stands in."""
    return "".join(
        sign if sign.isprintable() and sign not in "<> \\" else f"%{ord(sign):02X}"
        for sign in citation.link_from(server)
    )
