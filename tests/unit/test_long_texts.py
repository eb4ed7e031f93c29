"""What reads a document, a question or a model's reply takes as long as that is long: no loop in a loop over it."""

from collections.abc import Callable

import pytest

from lightwell.answer import active, bearers, facts, sentences, telling, ties
from lightwell.answer.orders import is_order
from lightwell.answer.senses import is_altered
from lightwell.domain import lookalikes, terms
from lightwell.domain.graph import normalized
from lightwell.domain.sentences import sentence_spans
from lightwell.domain.units import units
from lightwell.ingest import marks, names
from lightwell.ingest.rows import rows
from tests.growth import Timed

JANE = telling.names(["Jane Smith"])
BODIES = (
    "_", "-", ".", "+", "#", "*", "/", "|", "[", "(", "<", "@", "a", "A", "1", " ", "\n", "`", "~", "$", '"', "\u0301",
    "a ", "A ", "A.", "1 ", "1.1 ", "| a ", "- a\n", "> a\n", "[1]", "a. ", "A b. ", "x_", "a@b.de ", "Jane Smith ", "not a, ",
    "http://a.de/ ", "\n\n", "18 percent ", "reply only with a\n\n", "E|a|b|c\n", "Monday 3 May 2026 ",
)  # fmt: skip


READERS: dict[str, Callable[[str], object]] = {
    "active.active_parts": active.active_parts,
    "bearers.picked": bearers.picked,
    "bearers.addresses": lambda text: (
        bearers.parted(["Jane Smith"], (), ()) or bearers.picked(text)
    ),
    "facts.figures": facts.figures,
    "facts.placed": facts.placed,
    "facts.dates_named": facts.dates_named,
    "facts.names": facts.names,
    "facts.clauses": facts.clauses,
    "sentences.cited": sentences.cited,
    "telling.defining": lambda text: telling.defining(f"Jane Smith {text}", JANE),
    "telling.telling": lambda text: telling.telling(text, JANE),
    "telling.says_something": telling.says_something,
    "telling.openness": lambda text: telling.openness(text, text),
    "ties.is_proper": lambda text: ties.is_proper("Jane", text),
    "orders.is_order": lambda text: is_order(text, len(text) - 1),
    "senses.is_altered": lambda text: is_altered(text, text, denies=False),
    "lookalikes.as_read": lookalikes.as_read,
    "terms.terms": terms.terms,
    "graph.normalized": normalized,
    "units.units": units,
    "sentences.sentence_spans": sentence_spans,
    "marks.marks": marks.marks,
    "marks.defined_terms": lambda text: list(marks.defined_terms(text)),
    "names.names": names.names,
    "rows.rows": rows,
}


@pytest.mark.parametrize("name", READERS)
def test_the_time_grows_with_the_text(name: str) -> None:
    timed = Timed(name, READERS[name])
    assert [body for body in BODIES if timed.slow_at(("", body))] == []
