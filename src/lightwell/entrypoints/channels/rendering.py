"""What is said in a chat of answers, briefs, statements and passages: short first, then the sources that bear it out.

The words of documents are text; links lead to this server alone, or to a checked address of a source.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from urllib.parse import urlsplit

from lightwell.answer.quotes import render_text
from lightwell.domain.answers import (
    INSUFFICIENT,
    MAY_NOT_ANSWER,
    Answer,
    AnswerState,
    Citation,
    CitedSentence,
    Confidence,
    PlacedSentence,
    Step,
)
from lightwell.domain.briefs import Brief, BriefLine, RelatedEntity
from lightwell.domain.chat import ShownAnswer
from lightwell.domain.evidence import Evidence, Retrieval
from lightwell.domain.graph_views import Candidate, Candidates
from lightwell.entrypoints import wording
from lightwell.entrypoints.channels.messages import (
    Block,
    Kind,
    Message,
    Span,
    Style,
    heading,
    note,
    text,
)
from lightwell.entrypoints.channels.paging import plain_text
from lightwell.entrypoints.sources import (
    key_sentence,
    nearest_line,
    place_name,
    source_name,
)
from lightwell.text.pieces import shorten
from lightwell.text.regex import regex

_LONGEST_QUOTE = 700
_LONGEST_KEY = 200
_LONGEST_FIELD = 90
_MOST_PARAGRAPHS = 3
_CODE = regex(r"(?<!`)`([^`\n]{1,300})`(?!`)")
_LONGEST_ADDRESS = 2000

Shown = Answer | ShownAnswer
_Links = dict[str, str]


def render_answer(answer: Shown, server: str = "") -> Message:
    """Return an answer with its numbered sources; a refusal, a greeting and what the graph states without sentences are short."""
    if answer.state is AnswerState.INSUFFICIENT:
        return render_refusal(answer, server)
    sentences = answer.placed_sentences if isinstance(answer, Answer) else answer.sentences
    if not sentences:
        return Message(blocks=(text(answer.text), *_notes(answer)))
    links = _links(answer.citations, server)
    words = "\n".join(sentence.text for sentence in sentences)
    return Message(
        blocks=(
            *_doubt(answer.state),
            *_sentences(sentences, links),
            *_sources(answer.citations, links, above=words),
            *_notes(answer),
        )
    )


def render_progress(
    sentences: Sequence[CitedSentence], step: Step | None = None, *, is_doubtful: bool = False
) -> Message:
    """Return what there is of an answer while it is made: the sentences so far, without a link, else what is done."""
    if not sentences:
        return Message(blocks=(note(f"{wording.step_line(step)} …" if step else "…"),))
    doubt = _doubt(AnswerState.POSSIBLY if is_doubtful else AnswerState.ANSWERED)
    placed = [sentence.placed(0) for sentence in sentences]
    return Message(blocks=(*doubt, *_sentences(placed, {})))


def render_refusal(answer: Shown, server: str = "") -> Message:
    """Return in at most three paragraphs that there is no answer, what came nearest, and which words nothing mentions."""
    nearest = answer.nearest if isinstance(answer, Answer) else ()
    blocks = [text(answer.text)]
    if nearest:
        name = source_name(nearest[0])
        before, _, after = nearest_line(nearest).partition(name)
        linked = Span(name, url=_link(nearest[0], server))
        blocks.append(Block((Span(before), linked, Span(after))))
    if answer.notes:
        blocks.append(note(" ".join(answer.notes)))
    return Message(blocks=tuple(blocks))


def render_statements(answer: Answer, server: str = "") -> Message:
    """Return statements with their dates and numbered sources, or what is nearest to one."""
    if not answer.sentences:
        return render_refusal(answer, server)
    links = _links(answer.citations, server)
    words = "\n".join(sentence.text for sentence in answer.sentences)
    return Message(
        blocks=(
            *_doubt(answer.state),
            *(
                _item(wording.day(stated.said_at), stated.text, stated.ids, links)
                for stated in answer.sentences
            ),
            *_sources(answer.citations, links, above=words),
            *_notes(answer),
        )
    )


def render_brief(brief: Brief, server: str = "") -> Message:
    """Return what an entity is, what happened lately, what is open, and who and what is tied to it, with three to five sources."""
    entity = brief.entity
    head = Block((Span(entity.name, Style.BOLD), Span(f"  {entity.kind}")))
    blocks = [head]
    if entity.description:
        by_hand = f" ({wording.DESCRIBED_BY_HAND})" if entity.described_by_hand else ""
        blocks.append(text(f"{_on_one_line(entity.description)}{by_hand}"))
    if brief.confidence is Confidence.INSUFFICIENT:
        return Message(blocks=(*blocks, text(INSUFFICIENT)))
    links = _links(brief.citations, server)
    parts = (
        *_part(wording.ABOUT, (_line(line, links, dated=False) for line in brief.about)),
        *_part(wording.OPEN, (_line(line, links) for line in brief.open_points)),
        *_part(wording.LATELY, (_line(line, links) for line in brief.lately)),
    )
    people = tuple(_related(wording.PEOPLE, brief.people, links, parts))
    linked = tuple(_related(wording.LINKS, brief.links, links, (*parts, *people)))
    return Message(
        blocks=(
            *blocks,
            *parts,
            *people,
            *linked,
            *_sources(brief.citations, links, above=plain_text(parts)),
            note(wording.confidence_line(brief.confidence)),
            *map(note, brief.notes),
        )
    )


def render_passages(retrieval: Retrieval, server: str = "") -> Message:
    """Return passages as a numbered list, best first, each with its key sentence."""
    filters = wording.filters_line(retrieval.understood)
    notes = [*retrieval.notes, *([filters] if filters else [])]
    if not retrieval.evidence:
        return Message(blocks=(text(wording.NO_PASSAGE), *map(note, notes)))
    if retrieval.has_insufficient_evidence:
        notes.append(wording.BELOW_THRESHOLD)
    items = (
        _passage(rank, passage, server) for rank, passage in enumerate(retrieval.evidence, start=1)
    )
    names = map(wording.candidates_line, retrieval.ambiguous_names)
    return Message(blocks=(*items, *map(note, (*notes, *names))))


def render_candidates(named: Candidates) -> tuple[Block, ...]:
    """Return what a name may mean, with what distinguishes the entities."""
    return (text(wording.candidates_line(named)), *map(_candidate, named.candidates))


def candidate_label(candidate: Candidate) -> str:
    """Return the label of a button that picks an entity: its name, and the first two things that tell it from the others, as there is room for few words."""
    return " · ".join((_on_one_line(candidate.entity.name), *islice(_apart(candidate), 2)))


# ── parts ─────────────────────────────────────────────────────────────────────────────────────────────


def _doubt(state: AnswerState) -> Iterator[Block]:
    if state is AnswerState.POSSIBLY:
        yield Block((Span(MAY_NOT_ANSWER, Style.ITALIC),))


def _sentences(sentences: Sequence[PlacedSentence], links: _Links) -> Iterator[Block]:
    """Yield a few sentences as paragraphs, more as a list."""
    if len(sentences) > _MOST_PARAGRAPHS:
        yield from (_item("", stated.text, stated.citations, links) for stated in sentences)
        return
    for stated in sentences:
        yield Block((*_words(stated.text), Span(" "), *_marks(stated.citations, links)))


def _item(date: str, words: str, marks: Sequence[str], links: _Links) -> Block:
    """Return an item of a list, with a date that does not stand in its words."""
    dated = (Span(date, Style.ITALIC), Span("  ")) if date and date not in words else ()
    spans = (Span("• "), *dated, *_words(words), Span(" "), *_marks(marks, links))
    return Block(spans, Kind.ITEM)


def _marks(marks: Sequence[str], links: _Links) -> Iterator[Span]:
    return (Span(mark, url=links.get(mark, "")) for mark in marks)


def _words(words: str, style: Style = Style.PLAIN) -> Iterator[Span]:
    """Yield words of a document, what stands between backquotes as code."""
    for number, part in enumerate(_CODE.split(words)):
        if part:
            yield Span(part, Style.CODE if number % 2 else style)


def _line(line: BriefLine, links: _Links, *, dated: bool = True) -> Block:
    marks = tuple(dict.fromkeys(cited.id for cited in line.citations))
    return _item(wording.day(line.said_at) if dated else "", line.text, marks, links)


def _part(title: str, lines: Iterable[Block]) -> tuple[Block, ...]:
    items = tuple(lines)
    return (heading(title), *items) if items else ()


def _related(
    title: str, others: Sequence[RelatedEntity], links: _Links, cited: Sequence[Block]
) -> Iterator[Block]:
    """Yield the names of other entities on one line, and what is stated of one where no line above cites that."""
    if not others:
        return
    yield heading(title)
    yield Block((Span(" · ".join(_on_one_line(other.name) for other in others)),), Kind.ITEM)
    marks = {span.text for block in cited for span in block.spans}
    for other in others:
        line = other.evidence
        new = [quote.id for quote in line.citations if quote.id not in marks] if line else []
        if line and new:
            marks.update(new)
            yield _item("", f"{other.name}: {line.text}", tuple(dict.fromkeys(new)), links)


def _sources(citations: Sequence[Citation], links: _Links, *, above: str) -> Iterator[Block]:
    """Yield each place that is quoted, with its marks and date, and what it says where that does not stand `above` already."""
    read = _on_one_line(above)
    for (name, dated, _), quotes in groupby(citations, _source):
        quoted = tuple(quotes)
        marks = dict.fromkeys(cited.id for cited in quoted)
        supplied = f" ({wording.SUPPLIED_BY_HAND})" if quoted[0].is_supplied else ""
        spans = (
            *(Span(mark, Style.BOLD) for mark in marks),
            Span(" "),
            Span(name, url=links.get(quoted[0].id, "")),
            Span(f"{f' · {dated}' if dated else ''}{supplied}"),
        )
        yield Block(tuple(span for span in spans if span.text), Kind.SOURCE)
        for cited in quoted:
            piece = _piece(cited)
            if any(_on_one_line(line) not in read for line in piece.split("\n")):
                yield _quotation(piece, key_sentence(cited))


def _source(cited: Citation) -> tuple[str, str, str]:
    return source_name(cited), wording.day(cited.dated_at), cited.document_id


def _piece(cited: Citation) -> str:
    """Return what a citation quotes as people read it, without the headings that its source's name has already."""
    lines = render_text(cited.snippet).split("\n")
    named = {cited.document_title, *cited.locator.section}
    first = next((n for n, line in enumerate(lines) if line.strip() not in named), 0)
    return "\n".join(lines[first:])


def _quotation(piece: str, key: str) -> Block:
    """Return a piece with its key sentence in bold; of a long one the key sentence alone."""
    if len(piece) > _LONGEST_QUOTE:
        return Block(tuple(_words(shorten(key, _LONGEST_QUOTE))), Kind.QUOTE)
    before, quoted, after = piece.partition(key)
    if not quoted or not (before or after):
        return Block(tuple(_words(piece)), Kind.QUOTE)
    return Block((*_words(before), *_words(quoted, Style.BOLD), *_words(after)), Kind.QUOTE)


def _notes(answer: Shown) -> Iterator[Block]:
    if answer.citations and answer.confidence:
        yield note(wording.confidence_line(answer.confidence))
    if isinstance(answer, Answer):
        filters = wording.filters_line(answer.filters)
        yield from map(note, filter(None, (filters, *answer.notes)))
        yield from (note(wording.candidates_line(named)) for named in answer.ambiguous_names)
    else:
        yield from map(note, answer.notes)


def _passage(rank: int, passage: Evidence, server: str) -> Block:
    chunk = passage.chunk
    name = place_name(chunk.title, passage.snippet_locator)
    url = checked_address(server + passage.address if server else chunk.source_address)
    dated = wording.day(chunk.dated_at)
    spans = (
        Span(f"{rank}. "),
        Span(name, url=url),
        Span(f" · {dated}" if dated else ""),
    )
    key = shorten(_on_one_line(render_text(passage.snippet)), _LONGEST_KEY)
    words = () if key in name else (Span("\n"), *_words(key))
    return Block((*(span for span in spans if span.text), *words), Kind.ITEM)


def _candidate(candidate: Candidate) -> Block:
    name = Span(_on_one_line(candidate.entity.name), Style.BOLD)
    apart = "".join(f" · {value}" for value in _apart(candidate))
    return Block((Span("• "), name, *_words(apart)), Kind.ITEM)


def _apart(candidate: Candidate) -> Iterator[str]:
    """Yield what tells a candidate from the others, in words that explain themselves."""
    for field, value in candidate.distinguishing.items():
        line = _on_one_line(value)
        if field != "url":
            yield wording.passages_of(line) if field == "passages" else _shortened(line)


def _shortened(line: str) -> str:
    cut = shorten(line, _LONGEST_FIELD)
    return line if cut == line else f"{cut} …"


# ── links ─────────────────────────────────────────────────────────────────────────────────────────────


def _links(citations: Sequence[Citation], server: str) -> _Links:
    """Return the address that each mark leads to, "" for none."""
    return {cited.id: _link(cited, server) for cited in reversed(citations)}


def _link(cited: Citation, server: str) -> str:
    return checked_address(cited.link_from(server))


def checked_address(url: str) -> str:
    """Return the address if it is one of the web without a user in it, which a chat takes as it is; else nothing."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    is_fine = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
    is_plain = len(url) <= _LONGEST_ADDRESS and url.isprintable() and " " not in url
    return url if is_fine and is_plain else ""


def _on_one_line(words: str) -> str:
    return " ".join(words.split())
