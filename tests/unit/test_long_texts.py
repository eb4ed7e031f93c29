"""What reads a document, a question or a model's reply takes as long as that is long: no loop in a loop over it."""

from collections.abc import Callable

import pytest

from lightwell.answer import open_points, reply
from lightwell.answer.brief import cues, namesakes, related
from lightwell.answer.verification.overstatement import is_overstated
from lightwell.domain.graph import normalize_name
from lightwell.domain.question_names import proper_name_terms
from lightwell.entrypoints import markdown
from lightwell.ingest.extract import descriptions, identifying, kinds, names, patterns
from lightwell.ingest.extract.reply_rows import parse_rows
from lightwell.ingest.extract.sentences import read_sentences, without_code
from lightwell.ingest.extract.spans import Setting
from lightwell.ingest.parse.rst import to_markdown
from lightwell.text import (
    answer_types,
    dates,
    markup,
    terms,
)
from lightwell.text.analysis.passage import PassageAnalysis
from lightwell.text.analysis.stored import StoredAnalysis
from lightwell.text.answer_types.facts import read_facts
from lightwell.text.blocks import blocks
from lightwell.text.figures import facts_with_context, find_figures
from lightwell.text.injection import disguises, is_inside_injection
from lightwell.text.markup import strip_markup
from lightwell.text.negation import split_into_clauses
from lightwell.text.pieces import Bounds, Size, piece_around
from lightwell.text.proper_names import find_names
from lightwell.text.sentences import sentence_spans
from lightwell.text.units import unit_spans
from tests.growth import Timed

pytestmark = pytest.mark.slow

ASKED = [
    answer_types.expected_answer(question)
    for question in ("How long is it?", "How many users?", "When?", "Who?", "By when?")
]
JANE = cues.entity_names(["Jane Smith"])
BODIES = (
    "_", "-", ".", "+", "#", "*", "/", "|", "[", "(", "<", "@", "a", "A", "1", " ", "\n", "`", "~", "$", '"', "\u0301",
    "a ", "A ", "A.", "1 ", "1.1 ", "| a ", "- a\n", "> a\n", "[1]", "a. ", "A b. ", "x_", "a@b.de ", "Jane Smith ", "not a, ",
    "http://a.de/ ", "\n\n", "18 percent ", "reply only with a\n\n", "E|a|b|c\n", "Monday 3 May 2026 ",
)  # fmt: skip


READERS: dict[str, Callable[[str], object]] = {
    "markdown.escape": markdown.escape,
    "rst.to_markdown": to_markdown,
    "markup.find_addresses": markup.find_addresses,
    "markup.strip_active_markup": markup.strip_active_markup,
    "bearers.picked": namesakes.parse_name_with_address,
    "bearers.addresses": lambda text: (
        namesakes.split_by_address(["Jane Smith"], (), ())
        or namesakes.parse_name_with_address(text)
    ),
    "answer_types.expected_answer": answer_types.expected_answer,
    "answer_types.lacking_share": lambda text: [
        answer_types.lacking_share(read_facts(text), each, ()) for each in ASKED
    ],
    "question_names.proper_name_terms": proper_name_terms,
    "figures.find_figures": find_figures,
    "figures.facts_with_context": facts_with_context,
    "dates.find_date_texts": dates.find_date_texts,
    "proper_names.find_names": find_names,
    "negation.split_into_clauses": split_into_clauses,
    "reply.split_citation_marks": reply.split_citation_marks,
    "telling.defining": lambda text: cues.definition_score(f"Jane Smith {text}", JANE),
    "telling.telling": lambda text: cues.news_score(text, JANE),
    "telling.says_something": cues.has_content,
    "telling.openness": lambda text: open_points.open_issue_score(text, text),
    "ties.is_proper": lambda text: related.is_proper("Jane", text),
    "orders.is_order": lambda text: is_inside_injection(text, len(text) - 1),
    "overstatement.is_overstated": lambda text: is_overstated(text, text),
    "disguises.normalize_lookalikes": disguises.normalize_lookalikes,
    "terms.terms": terms.terms,
    "graph.normalized": normalize_name,
    "units.units": unit_spans,
    "blocks.blocks": blocks,
    "markup.strip_markup": strip_markup,
    "pieces.piece_around": lambda text: piece_around(
        PassageAnalysis(text=text, chunks=((0, StoredAnalysis(text=text)),)),
        len(text) // 2,
        Bounds(start=0, end=len(text), is_excluded=lambda _start, _end: False, row_score=len),
        Size(extended=650, unbroken=1000),
    ),
    "sentences.sentence_spans": sentence_spans,
    "marks.marks": patterns.find_patterns,
    "marks.defined_terms": lambda text: list(patterns.find_defined_terms(text)),
    "names.names": lambda text: names.find_names(text, Setting()),
    "kinds.kinds": kinds.tell_kinds,
    "sentences.read": lambda text: list(read_sentences(without_code(text), ())),
    "descriptions.quote": lambda text: descriptions.quote_about(f"Jane{text}", "Jane"),
    "descriptions.predicate": descriptions.predicate_between,
    "identifying.labels": identifying.identify_by_labels,
    "identifying.identify": lambda text: identifying.identify(
        f"Jane Smith{text}", names.Name(text="Jane Smith", kind="term", start=0)
    ),
    "rows.rows": parse_rows,
}


@pytest.mark.parametrize("name", READERS)
def test_the_time_grows_with_the_text(name: str) -> None:
    timed = Timed(name, READERS[name])
    assert [body for body in BODIES if timed.slow_at(("", body))] == []
