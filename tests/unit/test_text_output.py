"""Answers as text for people."""

from uuid import uuid4

from lightwell.domain.graph import Entity
from lightwell.domain.graph_views import Candidate, Candidates
from lightwell.domain.ids import EntityId
from lightwell.entrypoints.cli.text_output import ambiguous_names
from lightwell.entrypoints.operations.citations import AmbiguousName


def candidate(number: int) -> Candidate:
    entity = Entity(
        id=EntityId(uuid4()),
        ref=f"kg:term:r-{number}",
        name="R",
        kind="term",
        description="",
        chunk_count=1,
        sources=(),
        paths=(),
    )
    values = {"description": "A language for statistics. " * 20, "passages": "7"}
    return Candidate(entity=entity, distinguishing=values)


def test_an_ambiguous_name_takes_one_line_below_an_answer() -> None:
    named = Candidates(name="R", candidates=tuple(map(candidate, range(10))))
    (line,) = [line.plain for line in ambiguous_names([AmbiguousName.model_validate(named)])]
    assert line.startswith("'R' may mean 10 different entities: R, R, …. Ask again")
    assert "`lightwell brief 'R'` lists them" in line
    assert list(ambiguous_names([])) == []
