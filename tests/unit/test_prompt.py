"""What a model is shown: within its budget, and covering the question."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.answer.prompt import (
    Budget,
    Context,
    answer_messages,
    entity_line,
    relation_line,
    select_context,
)
from lightwell.answer.quotes import make_citation, split_into_quotes
from lightwell.domain.errors import Invalid
from lightwell.domain.evidence import Evidence
from lightwell.domain.graph import Entity, Predicate, Relation
from lightwell.domain.ids import EntityId, RelationId, new_id
from lightwell.text.analysis.chunk import analyse
from lightwell.text.analysis.stored import StoredAnalysis, encode
from lightwell.text.tokens import token_count
from tests.generation import examples
from tests.passages import chunk, found, passage

ASKED = "Who leads the project that delivers the sensor for Nordwind?"
LONG = " ".join(f"Sentence {number} says that the sensor is green." for number in range(400))


def entity(name: str, description: str) -> Entity:
    return Entity(
        id=EntityId(new_id()), ref=f"kg:term:{name}", name=name, kind="term", description=description,
        chunk_count=1, sources=(), paths=(),
    )  # fmt: skip


def relation(source: str, target: str, description: str) -> Relation:
    return Relation(
        id=RelationId(new_id()), ends=(EntityId(new_id()), EntityId(new_id())),
        source=source, target=target, predicate=Predicate.PART_OF, keywords="", description=description,
        weight=1, chunk_count=1, sources=(), paths=(),
    )  # fmt: skip


def shown(*given: Evidence, tokens: int = 4000, **graph: tuple[Entity, ...]) -> Context:
    return select_context(
        found(ASKED, *given, entities=graph.get("entities", ())), Budget(max_tokens=tokens)
    )


def titles(made: Context) -> list[str]:
    return [each.chunk.title for each in made.passages]


@pytest.mark.parametrize(
    ("entities", "relations", "chunks"),
    [(-0.1, 0.3, 0.3), (0.4, 1.1, 0), (0.5, 0.3, 0.3)],
)
def test_shares_that_cannot_be_are_refused(
    entities: float, relations: float, chunks: float
) -> None:
    with pytest.raises(Invalid, match="share"):
        Budget(entities=entities, relations=relations, chunks=chunks)


def test_a_context_needs_tokens() -> None:
    with pytest.raises(Invalid, match="token"):
        Budget(max_tokens=0)


def test_what_the_graph_says_is_shown_in_order_within_its_share() -> None:
    said = entity("Osprey", "A project.\nIt delivers Tarn.")
    silent, endless = entity("Plover", "  "), entity("Heron", "word " * 2000)
    owns = relation("Osprey", "Tarn", "delivers it")
    made = select_context(
        found(ASKED, chunk("The sensor is green."), entities=(silent, endless, said), relations=(owns,)),
        Budget(max_tokens=1000),
    )  # fmt: skip
    assert (made.entities, made.relations) == ((said,), (owns,))
    assert entity_line(said) == "- Osprey (term): A project. It delivers Tarn."
    assert relation_line(owns) == "- Osprey → Tarn (part of): delivers it"
    content = answer_messages(ASKED, made)[1].content
    assert content.index("- Osprey (term)") < content.index("- Osprey →") < content.index("[1]\n")
    assert "Plover" not in content


def test_what_the_graph_leaves_goes_to_the_passages() -> None:
    one, other = (
        passage(chunk(LONG.replace("green", colour)[:5000], number))
        for number, colour in ((1, "red"), (2, "blue"))
    )
    assert len(shown(one, other, tokens=2700).passages) == 2
    said = entity("Osprey", "word " * 1000)
    crowded = shown(one, other, tokens=2700, entities=(said,))
    assert crowded.entities == (said,)
    assert sum(each.chunk.tokens for each in crowded.passages) < 1700


def test_a_passage_that_is_cut_has_the_units_of_what_is_left() -> None:
    """Those of the whole are kept with the chunk, and would be read at wrong places."""
    whole = chunk(LONG[:9000])
    stored = StoredAnalysis(text=whole.text, data=encode(analyse(whole.text)))
    (cut,) = shown(passage(replace(whole, analysis=stored)), tokens=900).passages
    assert cut.chunk.text != whole.text
    quotes = [quote.text for quote in split_into_quotes(cut)]
    assert quotes == [f"{sentence}." for sentence in cut.chunk.text.removesuffix(".").split(". ")]


def test_the_passages_together_cover_the_question() -> None:
    first = passage(chunk("Nordwind ordered the sensor from us.", 1), relevance=0.9)
    alike = passage(chunk("The sensor for Nordwind is the sensor.", 2), relevance=0.7)
    adds = passage(chunk("Osprey is the project that Priya leads and delivers.", 3), relevance=0.6)
    assert titles(shown(alike, first, adds)) == ["Document 1", "Document 3", "Document 2"]


def test_what_neither_bears_on_the_question_nor_adds_to_it_is_left_out() -> None:
    first = passage(chunk("Nordwind ordered the sensor.", 1))
    beside = passage(chunk("The canteen is closed.", 2), relevance=0.01)
    assert titles(shown(first, beside)) == ["Document 1"]


def test_a_look_alike_is_shown_once_and_one_with_other_figures_is_not_a_look_alike() -> None:
    text = f"Nordwind ordered the sensor. It costs 480 EUR. {LONG[:2000]}"
    first, same = passage(chunk(text, 1)), passage(chunk(f"{text}\n", 2))
    other = passage(chunk(text.replace("480", "490"), 3))
    assert titles(shown(first, same, other)) == ["Document 1", "Document 3"]


def test_the_best_passage_is_always_there_cut_around_its_best_unit() -> None:
    text = f"{LONG}\n\nPriya leads the project for Nordwind. {LONG}"
    made = shown(passage(chunk(text), weights={"priya": 1.0}), tokens=500)
    (only,) = made.passages
    assert "Priya leads the project for Nordwind." in only.chunk.text
    assert made.tokens <= 500
    assert only.chunk.tokens > 300
    start = only.chunk.locator.start - 100
    assert text[start : start + len(only.chunk.text)] == only.chunk.text
    assert only.chunk.text.endswith(".")
    best = only.highlights[0]
    assert only.chunk.text[best.start : best.end] == "Priya leads the project for Nordwind."
    cited = make_citation(1, split_into_quotes(only)[0])
    assert text[cited.locator.start - 100 :].startswith(cited.snippet)


def test_a_sentence_without_end_is_cut_at_a_word() -> None:
    made = shown(passage(chunk("sensor " * 5000)), tokens=300)
    assert made.tokens <= 300
    assert made.passages[0].chunk.text.endswith("sensor")


def test_nothing_found_is_nothing_shown() -> None:
    assert shown() == Context(entities=(), relations=(), passages=(), tokens=0)


WORDS = st.sampled_from(
    "Nordwind sensor project leads Priya 480 EUR is the green. \n\n - | It".split(" ")
)


@examples(60)
@given(
    st.lists(st.lists(WORDS, min_size=1, max_size=300).map(" ".join), max_size=6),
    st.lists(st.text(max_size=200), max_size=4),
    st.integers(150, 1500),
)
def test_a_budget_is_kept_and_the_choice_is_the_same_each_time(
    texts: list[str], descriptions: list[str], tokens: int
) -> None:
    given_ = [passage(chunk(text, number)) for number, text in enumerate(texts, 1) if text.strip()]
    entities = tuple(entity(f"E{number}", text) for number, text in enumerate(descriptions))
    made = shown(*given_, tokens=tokens, entities=entities)
    assert made.tokens <= tokens
    assert made == shown(*given_, tokens=tokens, entities=entities)
    assert bool(made.passages) == bool(given_)
    sent = answer_messages(ASKED, made)[1].content
    assert token_count(sent) <= made.tokens + token_count(ASKED) + 40
