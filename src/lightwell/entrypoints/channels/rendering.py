"""What is said in a chat of answers, briefs, statements and passages: short first, then the sources that bear it out.

The words of documents are text; links lead to this server alone, or to a checked address of a source.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
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
from lightwell.domain.graph import state_relation
from lightwell.domain.graph_views import Candidate, Candidates
from lightwell.entrypoints import wording
from lightwell.entrypoints.channels.messages import Block, Kind, Message, Span, Style
from lightwell.entrypoints.sources import (
    key_sentence,
    nearest_line,
    pages_of,
    sections_of,
    source_name,
)
from lightwell.text.pieces import shorten

_LONGEST_QUOTE = 700
_LONGEST_KEY = 200
_LONGEST_ADDRESS = 2000

Shown = Answer | ShownAnswer
_Links = dict[str, str]


def text(words: str) -> Block:
    """Return a paragraph."""
    return Block((Span(words),))


def heading(words: str) -> Block:
    """Return the title of what follows."""
    return Block((Span(words, Style.BOLD),))


def note(words: str) -> Block:
    """Return small print."""
    return Block((Span(words, Style.ITALIC),), Kind.NOTE)


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
            *(_sentence(sentence, links) for sentence in sentences),
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
    return Message(blocks=(*doubt, *(_sentence(sentence, {}) for sentence in placed)))


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
        *_part(wording.PEOPLE, (_related(person, links) for person in brief.people)),
        *_part(wording.LINKS, (_related(linked, links) for linked in brief.links)),
    )
    words = "\n".join(line.text for line in (*brief.about, *brief.open_points, *brief.lately))
    return Message(
        blocks=(
            *blocks,
            *parts,
            *_sources(brief.citations, links, above=words),
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
        block
        for rank, passage in enumerate(retrieval.evidence, start=1)
        for block in _passage(rank, passage, server)
    )
    names = map(wording.candidates_line, retrieval.ambiguous_names)
    return Message(blocks=(*items, *map(note, (*notes, *names))))


def render_candidates(named: Candidates) -> tuple[Block, ...]:
    """Return what a name may mean, with what distinguishes the entities."""
    return (text(wording.candidates_line(named)), *map(_candidate, named.candidates))


def candidate_label(candidate: Candidate) -> str:
    """Return the label of a button that picks an entity: its name, and what tells it from the others."""
    return ", ".join((candidate.entity.name, *candidate.distinguishing.values()))


# ── parts ─────────────────────────────────────────────────────────────────────────────────────────────


def _doubt(state: AnswerState) -> Iterator[Block]:
    if state is AnswerState.POSSIBLY:
        yield Block((Span(MAY_NOT_ANSWER, Style.ITALIC),))


def _sentence(sentence: PlacedSentence, links: _Links) -> Block:
    return Block((Span(f"{sentence.text} "), *_marks(sentence.citations, links)))


def _item(date: str, words: str, marks: Sequence[str], links: _Links) -> Block:
    dated = (Span(date, Style.ITALIC), Span("  ")) if date else ()
    spans = (Span("• "), *dated, Span(f"{_on_one_line(words)} "), *_marks(marks, links))
    return Block(spans, Kind.ITEM)


def _marks(marks: Sequence[str], links: _Links) -> Iterator[Span]:
    return (Span(mark, url=links.get(mark, "")) for mark in marks)


def _line(line: BriefLine, links: _Links, *, dated: bool = True) -> Block:
    marks = tuple(dict.fromkeys(cited.id for cited in line.citations))
    return _item(wording.day(line.said_at) if dated else "", line.text, marks, links)


def _part(title: str, lines: Iterable[Block]) -> tuple[Block, ...]:
    items = tuple(lines)
    return (heading(title), *items) if items else ()


def _related(related: RelatedEntity, links: _Links) -> Block:
    what = ", ".join(filter(None, (related.kind, wording.relation_words(related.relation))))
    evidence = related.evidence
    stated = state_relation(related.description, related.comparison, related.use_case)
    words = evidence.text if evidence else stated
    marks = dict.fromkeys(cited.id for cited in evidence.citations) if evidence else {}
    spans = (
        Span("• "),
        Span(_on_one_line(related.name), Style.BOLD),
        Span(f" ({what})" + (f": {_on_one_line(words)} " if words else "")),
        *_marks(tuple(marks), links),
    )
    return Block(spans, Kind.ITEM)


def _sources(citations: Sequence[Citation], links: _Links, *, above: str) -> Iterator[Block]:
    """Yield each source with the place, the date, and what it says where that does not stand `above` already."""
    read = _on_one_line(above)
    for mark, quotes in groupby(citations, lambda cited: cited.id):
        quoted = tuple(quotes)
        first = quoted[0]
        dated = wording.day(first.dated_at)
        supplied = f" ({wording.SUPPLIED_BY_HAND})" if first.is_supplied else ""
        spans = (
            Span(mark, Style.BOLD),
            Span(" "),
            Span(source_name(first), url=links.get(mark, "")),
            Span(f"{f' · {dated}' if dated else ''}{supplied}"),
        )
        yield Block(tuple(span for span in spans if span.text), Kind.ITEM)
        for cited in quoted:
            quotation = _quotation(cited)
            if _on_one_line(quotation.spans[0].text) not in read or len(quotation.spans) > 1:
                yield quotation


def _quotation(cited: Citation) -> Block:
    """Return what a citation quotes, its key sentence in bold; of a long piece the key sentence alone."""
    piece, key = render_text(cited.snippet), key_sentence(cited)
    if len(piece) > _LONGEST_QUOTE:
        return Block((Span(shorten(key, _LONGEST_QUOTE)),), Kind.QUOTE)
    before, quoted, after = piece.partition(key)
    if not quoted or not (before or after):
        return Block((Span(piece),), Kind.QUOTE)
    spans = (Span(before), Span(quoted, Style.BOLD), Span(after))
    return Block(tuple(span for span in spans if span.text), Kind.QUOTE)


def _notes(answer: Shown) -> Iterator[Block]:
    if answer.citations and answer.confidence:
        yield note(wording.confidence_line(answer.confidence))
    if isinstance(answer, Answer):
        filters = wording.filters_line(answer.filters)
        yield from map(note, filter(None, (filters, *answer.notes)))
        yield from (note(wording.candidates_line(named)) for named in answer.ambiguous_names)
    else:
        yield from map(note, answer.notes)


def _passage(rank: int, passage: Evidence, server: str) -> Iterator[Block]:
    chunk, place = passage.chunk, passage.snippet_locator
    name = ", ".join(
        filter(
            None,
            (" › ".join((chunk.title, *sections_of(place, chunk.title))), pages_of(place)),
        )
    )
    url = _checked(server + passage.address if server else chunk.source_address)
    dated = wording.day(chunk.dated_at)
    spans = (
        Span(f"{rank}. "),
        Span(_on_one_line(name), url=url),
        Span(f" · {dated}" if dated else ""),
    )
    yield Block(tuple(span for span in spans if span.text), Kind.ITEM)
    key = shorten(_on_one_line(render_text(passage.snippet)), _LONGEST_KEY)
    yield Block((Span(f"    {key}"),), Kind.ITEM)


def _candidate(candidate: Candidate) -> Block:
    fields = (f"{name}: {_on_one_line(value)}" for name, value in candidate.distinguishing.items())
    name = Span(_on_one_line(candidate.entity.name), Style.BOLD)
    return Block((Span("• "), name, Span(f" · {', '.join(fields)}")), Kind.ITEM)


# ── links ─────────────────────────────────────────────────────────────────────────────────────────────


def _links(citations: Sequence[Citation], server: str) -> _Links:
    """Return the address that each mark leads to, "" for none."""
    return {cited.id: _link(cited, server) for cited in reversed(citations)}


def _link(cited: Citation, server: str) -> str:
    return _checked(cited.link_from(server))


def _checked(url: str) -> str:
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
