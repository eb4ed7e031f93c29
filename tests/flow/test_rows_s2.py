"""Rows of the specification's S2, each by its number."""

from lightwell.domain.briefs import Brief
from lightwell.domain.candidates import Candidates
from lightwell.records.database import Database
from lightwell.testing.shelf import Shelf, written

from .conftest import Project, project_on

SALES, SUPPORT = ["team:sales"], ["team:support"]
NORDWIND = (
    written("a.md", "Nordwind Energie is a utility in Lübeck. Nordwind Energie pays late.", SALES),
    written("b.md", "Nordwind Logistik drives lorries. Nordwind Logistik has a depot.", SALES),
    written("c.md", "The depot of Castell Water was built in 1931.", SALES),
)


async def filled(project: Project, *more: str) -> Project:
    extra = (written(f"more{n}.md", text, SALES) for n, text in enumerate(more))
    await project.kb.ingest(Shelf(documents=(*NORDWIND, *extra)))
    return project


def picked(found: tuple[Candidates, ...]) -> dict[str, set[str]]:
    return {each.name: {one.entity.name for one in each.candidates} for each in found}


BOTH = {"Nordwind": {"Nordwind Energie", "Nordwind Logistik"}}


async def test_s2_14_every_way_to_ask_gives_the_candidates_for_an_ambiguous_name(
    project: Project,
) -> None:
    kb = (await filled(project)).kb
    reader = await kb.reader(SALES)
    asked = "What does Nordwind do?"
    assert picked((await kb.search(asked, reader)).ambiguous_names) == BOTH
    assert picked((await kb.ask(asked, reader)).ambiguous_names) == BOTH
    assert picked((await kb.statements(asked, reader)).ambiguous_names) == BOTH
    assert picked((await kb.chat(asked, reader)).ambiguous_names) == BOTH
    (*_, last) = [event async for event in kb.stream(asked, reader)]
    assert last.answer is not None
    assert picked(last.answer.ambiguous_names) == BOTH
    (several,) = (await kb.ask(asked, reader)).ambiguous_names
    assert all(each.apart for each in several.candidates)
    brief = await kb.brief(several.candidates[0].entity.ref, reader)
    assert isinstance(brief, Brief)


async def test_s2_14_people_of_one_name_are_candidates_until_the_question_says_which(
    project: Project,
) -> None:
    kb = (
        await filled(
            project,
            "Jonas Weber (jonas.weber@halden.example) writes firmware.",
            "We met Jonas Weber, jweber@nordwind.example, who buys pumps.",
        )
    ).kb
    reader = await kb.reader(SALES)
    (several,) = (await kb.ask("What does Jonas Weber do?", reader)).ambiguous_names
    assert {each.apart["email"] for each in several.candidates} == {
        "jonas.weber@halden.example",
        "jweber@nordwind.example",
    }
    exact = await kb.ask("What does Jonas Weber (jweber@nordwind.example) do?", reader)
    assert exact.ambiguous_names == ()


async def test_s2_14_a_full_name_or_a_unique_one_needs_no_choice(project: Project) -> None:
    kb = (await filled(project)).kb
    reader = await kb.reader(SALES)
    for asked in (
        "What does Nordwind Energie do?",
        "Where does Castell Water have a depot?",
        "Which Lorries are there?",
        "who pays late?",
    ):
        assert (await kb.ask(asked, reader)).ambiguous_names == (), asked


async def test_s2_14_candidates_that_the_reader_may_not_see_make_no_name_ambiguous(
    database: Database, other_database: Database
) -> None:
    seen: list[object] = []
    for place, hidden in ((database, True), (other_database, False)):
        project = await project_on(place)
        secret = (written("b.md", "Nordwind Logistik drives lorries.", SUPPORT),) if hidden else ()
        await project.kb.ingest(Shelf(documents=(NORDWIND[0], *secret)))
        reader = await project.kb.reader(SALES)
        seen.append((await project.kb.ask("What does Nordwind do?", reader)).ambiguous_names)
    assert seen == [(), ()]
