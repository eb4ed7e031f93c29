"""What the connector asks, and what the fake answers, held against Linear's official schema."""

from collections.abc import Mapping

import pytest
from graphql import parse, validate

from lightwell.connectors.linear import queries
from lightwell.connectors.linear.queries import PagedQuery
from lightwell.testing.linear import records
from lightwell.testing.linear.graphql import Row, execute
from lightwell.testing.linear.graphql import parse as parse_simply
from lightwell.testing.linear.server import LinearServer
from lightwell.testing.linear.workspace import LinearWorkspace
from tests.linear_sdl import run_with_schema, schema
from tests.linear_world import Received, build_world, connected

pytestmark = pytest.mark.shared


def all_queries() -> list[PagedQuery]:
    own = [each for each in vars(queries).values() if isinstance(each, PagedQuery)]
    ids = [queries.list_ids(each) for each in own if len(each.path) == 1]
    return [*own, *ids, *queries.NESTED.values()]


def test_every_query_is_valid() -> None:
    for query in all_queries():
        assert validate(schema(), parse(query.text)) == [], query.name


async def test_the_fake_answers_every_query_as_a_server_with_the_schema_does() -> None:
    """A sync, with filters, nested pages, and what follows from moved and trashed issues."""
    world = build_world()
    space = world.workspace
    compared: set[str] = set()

    def run_both(query: str, variables: Mapping[str, object]) -> Row:
        simple: Row = {"data": execute(parse_simply(query), space, variables, space.resolve)}
        assert simple == run_with_schema(space, query, variables)
        compared.add(query.split("(")[0].removeprefix("query "))
        return simple

    for number in range(7):
        records.attach(space, world["login"], f"Call {number}", f"https://calls.example/{number}")
        records.relate(
            space, world["login"], "related", records.add_issue(space, world["eng"], "x")
        )
        records.relate(space, records.add_issue(space, world["eng"], "y"), "blocks", world["login"])
    labels = [records.add_label(space, f"L{number}") for number in range(7)]
    space.edit("Issue", world["login"], labels=labels, sharedWith=[world["bob"]])
    teams = [records.add_team(space, f"T{number}", f"Team {number}") for number in range(5)]
    above = [records.add_initiative(space, f"Aim {number}") for number in range(5)]
    tags = [space.add("ProjectLabel", name=f"P{number}") for number in range(7)]
    space.edit("Project", world["project"], teams=teams, initiatives=above, labels=tags)
    async with connected(LinearServer(workspace=space, run=run_both)) as source:
        received = Received()
        await received.sync(source)
        records.move_issue(space, world["login"], world["sec"])
        space.trash("Issue", world["export"])
        for kind, name in (
            ("Project", "project"),
            ("Initiative", "initiative"),
            ("Document", "document"),
        ):
            space.edit(kind, world[name])
        space.edit_silently("Team", world["ops"], visibility="private")
        await received.sync(source)
        await source.directory()
        for stream in source.streams:
            async for _ in source.list_present(stream):
                pass
    assert received.unreadable == []
    assert compared >= {each.name for each in all_queries() if not each.name.endswith("Ids")}


def test_the_fake_refuses_as_the_schema_does_what_is_no_query() -> None:
    space = LinearWorkspace()
    answer = run_with_schema(space, "query X { issues(first: 1) { nodes { colour } } }", {})
    assert "Cannot query field 'colour'" in str(answer["errors"])
