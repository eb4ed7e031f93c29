"""Entities and relations as values."""

from dataclasses import replace
from uuid import UUID

import pytest

from lightwell.domain.errors import Invalid
from lightwell.domain.graph import (
    Entity,
    MergeStrategy,
    Predicate,
    Relation,
    combine_descriptions,
)
from lightwell.domain.ids import EntityId, RelationId

ACME = Entity(
    id=EntityId(UUID(int=1)),
    ref="kg:organization:acme",
    name="Acme",
    kind="organization",
    description="sells pumps",
    chunk_count=2,
    sources=("a#0", "b#0"),
    paths=("a", "b"),
)
OTHER = replace(
    ACME, name="ACME Inc", description="makes valves", sources=("b#0", "c#0"), paths=("c",)
)
USES = Relation(
    id=RelationId(UUID(int=3)),
    ends=(EntityId(UUID(int=1)), EntityId(UUID(int=2))),
    source="Acme",
    target="Nordwind",
    predicate=Predicate.USES,
    keywords="pumps",
    description="daily",
    weight=1.0,
    chunk_count=1,
    sources=("a#0",),
    paths=("a",),
)


@pytest.mark.parametrize(
    ("strategy", "description"),
    [
        (MergeStrategy.CONCATENATE, "sells pumps | makes valves"),
        (MergeStrategy.KEEP_FIRST, "sells pumps"),
        (MergeStrategy.KEEP_LONGEST, "makes valves"),
    ],
)
def test_merged_entities_keep_descriptions_by_strategy(
    strategy: MergeStrategy, description: str
) -> None:
    merged = ACME.merge_with(OTHER, strategy)
    assert (merged.name, merged.description, merged.chunk_count) == ("Acme", description, 4)
    assert merged.sources == ("a#0", "b#0", "c#0")
    assert merged.paths == ("a", "b", "c")


def test_a_summary_needs_a_model() -> None:
    with pytest.raises(Invalid, match="chat model"):
        ACME.merge_with(OTHER, MergeStrategy.LLM_SUMMARIZE)


def test_what_says_nothing_is_not_kept_before_what_does() -> None:
    assert combine_descriptions(MergeStrategy.KEEP_FIRST, [("",), (), ("a", "b")]) == ("a", "b")
    assert combine_descriptions(MergeStrategy.KEEP_LONGEST, []) == ()
    assert combine_descriptions(MergeStrategy.CONCATENATE, [("a",), ("b", "a")]) == ("a", "b")


@pytest.mark.parametrize("sourced", [ACME, replace(USES, sources=("a#0", "b#0"))])
def test_s0_1_sources_of_entities_and_relations_come_and_go_first_in_first_out(
    sourced: Entity | Relation,
) -> None:
    assert sourced.has_source_chunk("a#0")
    assert not sourced.remove_source_chunk("a#0").has_source_chunk("a#0")
    assert sourced.add_source("a#0").sources == ("a#0", "b#0")
    many = sourced.with_sources([f"{n}#0" for n in range(60)]).add_source("new#0")
    assert len(many.sources) == 50
    assert (many.sources[0], many.sources[-1]) == ("11#0", "new#0")
    paths = sourced.with_paths([f"{n}" for n in range(60)]).add_path("new").paths
    assert (len(paths), paths[0], paths[-1]) == (50, "11", "new")


def test_relations_are_redirected_and_joined() -> None:
    moved = USES.redirect("Acme", "ACME Inc")
    assert (moved.source, moved.target) == ("ACME Inc", "Nordwind")
    assert USES.redirect("Nordwind", "Acme").is_self_loop()
    assert not USES.is_self_loop()
    joined = replace(USES, comparison="cheaper", use_case="floods").merge_with(
        replace(moved, keywords="valves", comparison="louder", use_case="floods", sources=("c#0",))
    )
    assert (joined.weight, joined.chunk_count) == (2.0, 2)
    assert (joined.keywords, joined.description) == ("pumps, valves", "daily")
    assert (joined.comparison, joined.use_case) == ("cheaper | louder", "floods")
    assert joined.sources == ("a#0", "c#0")
    assert joined.add_source("d#0").add_path("d").paths == ("a", "d")
