"""The connector to Linear against a workspace: what it delivers, who sees it, and what becomes of changes."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import pytest

from lightwell.connectors.linear.source import LinearSource
from lightwell.domain.documents import NewDocument
from lightwell.domain.ids import GlobalRef
from lightwell.testing.connector_contract import Genuine, check_connector
from lightwell.testing.linear import records
from lightwell.testing.linear.server import LinearServer
from tests.linear_world import CONVERSATION, Received, World, build_world, connected, links_of


@dataclass(frozen=True)
class Linear:
    """A workspace, its server, the connector, and what was received."""

    world: World
    server: LinearServer
    source: LinearSource
    received: Received

    def document(self, kind: str, name: str) -> NewDocument:
        return self.received.documents[GlobalRef(f"linear:{kind}:{self.world[name]}")]

    def has(self, kind: str, name: str) -> bool:
        return f"linear:{kind}:{self.world[name]}" in self.received.documents

    def team(self, name: str) -> str:
        return f"linear:team:{self.world[name]}"

    async def sync(self) -> list[str]:
        """Sync, and return what changed."""
        self.received.changes.clear()
        await self.received.sync(self.source)
        return [str(each) for each in self.received.changes]

    async def settle(self) -> None:
        """Let all streams go on from an hour later, so that no overlap reads the world's first objects again."""
        space = self.world.workspace
        space.now += timedelta(hours=1)
        issue = records.add_issue(space, self.world["ops"], "Later")
        records.add_comment(space, "Later.", issue=issue, user=self.world["bob"])
        records.add_need(space, self.world["nordwind"], "Later.", issue=issue)
        project = records.add_project(space, "Later", [self.world["ops"]])
        records.add_update(space, "Later.", self.world["bob"], project=project)
        records.add_initiative(space, "Later")
        records.add_document(space, "Later", "Later.", project=project)
        space.now += timedelta(minutes=10)
        await self.sync()

    async def fetch(self, kind: str, name: str) -> None:
        self.received.add(await self.source.fetch([GlobalRef(f"linear:{kind}:{self.world[name]}")]))

    async def tags_of(self, person: str) -> set[str]:
        groups = (await self.source.directory()).groups
        own = self.world[person]
        return {tag for group in groups if own in group.members for tag in group.tags}

    async def sees(self, person: str, kind: str, name: str) -> bool:
        return not (await self.tags_of(person)).isdisjoint(self.document(kind, name).acl_tags)


@pytest.fixture
async def linear() -> AsyncIterator[Linear]:
    world = build_world()
    server = LinearServer(workspace=world.workspace)
    async with connected(server) as source:
        made = Linear(world, server, source, Received())
        await made.received.sync(source)
        yield made


async def test_the_connector_does_what_every_connector_must(linear: Linear) -> None:
    now = linear.world.workspace.now
    headers, body = linear.server.sign_webhook("Issue", linear.world["login"], sent_at=now)
    webhook = Genuine(headers=headers, body=body, received_at=now)
    unknown = GlobalRef("linear:issue:00000000-0000-0000-0000-000000000000")
    await check_connector(linear.source, unknown=unknown, webhook=webhook)


def test_an_issue_reads_well_and_states_its_people_places_and_relations(linear: Linear) -> None:
    document = linear.document("issue", "login")
    assert document.content.decode() == (
        "# ENG-1: Login fails after 10 minutes\n\n"
        "Team: Engineering\nStatus: Todo\nPriority: Urgent\nAssignee: Ada Lovelace\nCreated by: Bob Stone\n"
        "Created: 2026-11-02\nProject: Single sign-on\nLabels: Auth, Bug\nBlocks: OPS-1\n\n"
        "The session ends after **600 seconds**, whatever the setting says.\n\n"
        f"## Links\n\n- Conversation with Nordwind (open): {CONVERSATION}\n"
    )
    assert (document.title, document.url) == (
        "ENG-1: Login fails after 10 minutes",
        "https://linear.app/halden/issue/ENG-1",
    )
    assert document.metadata["author"] == "Bob Stone"
    assert document.created_at is not None
    assert document.created_at.date().isoformat() == "2026-11-02"
    assert document.author_ref == f"linear:user:{linear.world['bob']}"
    assert document.raw_payload["identifier"] == "ENG-1"
    assert links_of(document) == {
        ("ENG-1", "assignee", "Ada Lovelace"),
        ("ENG-1", "creator", "Bob Stone"),
        ("ENG-1", "team", "Engineering"),
        ("ENG-1", "project", "Single sign-on"),
        ("ENG-1", "blocks", "OPS-1"),
        ("ENG-1", "attachment", "Conversation with Nordwind"),
    }
    entities = {each.name: each for each in document.structure.entities}
    assert entities["Ada Lovelace"].attributes == {"email": "ada@halden.example"}
    assert entities["Conversation with Nordwind"].url == CONVERSATION


def test_the_other_kinds_say_what_they_belong_to(linear: Linear) -> None:
    assert links_of(linear.document("comment", "reply")) == {
        ("Comment by Ada Lovelace on ENG-1", "issue", "ENG-1"),
        ("Comment by Ada Lovelace on ENG-1", "reply_to", "Comment on ENG-1"),
        ("Comment by Ada Lovelace on ENG-1", "author", "Ada Lovelace"),
    }
    assert links_of(linear.document("customer_need", "need")) >= {
        ("ENG-1", "requested by", "Nordwind Logistik"),
    }
    assert links_of(linear.document("project", "project")) == {
        ("Single sign-on", "team", "Engineering"),
        ("Single sign-on", "lead", "Ada Lovelace"),
        ("Single sign-on", "creator", "Ada Lovelace"),
        ("Single sign-on", "initiative", "Enterprise 2027"),
    }
    assert ("Session design", "project", "Single sign-on") in links_of(
        linear.document("document", "document")
    )
    assert "> Sessions live in Redis.\n\nWhy not PostgreSQL?" in linear.received.text(
        "comment", linear.world["inline"]
    )
    customer = linear.document("customer", "nordwind").structure.entities[0]
    assert customer.attributes == {"domain": "nordwind.example", "external_ids": "crm-7"}
    assert linear.received.unreadable == []
    urls = [each.url for each in linear.received.documents.values()]
    assert len(set(urls)) == len(urls)


def test_who_sees_an_issue_learns_nothing_of_a_private_team(linear: Linear) -> None:
    for kind, name in (("issue", "login"), ("issue", "export"), ("project", "project")):
        document = linear.document(kind, name)
        said = f"{document.content.decode()} {document.structure} {document.raw_payload}"
        if kind == "project":  # its readers may be in either team
            assert "Security" not in said
        for secret in ("SEC-1", linear.world["leak"], "Tokens in log files"):
            assert secret not in said


async def test_everybody_sees_public_teams_guests_their_own_and_members_their_private_ones(
    linear: Linear,
) -> None:
    expected = {
        ("ada", "issue", "login"): True,
        ("bob", "issue", "login"): True,
        ("gus", "issue", "login"): True,
        ("gus", "issue", "export"): False,
        ("ada", "issue", "leak"): True,
        ("bob", "issue", "leak"): False,
        ("bob", "comment", "secret_comment"): False,
        ("bob", "customer", "nordwind"): True,
        ("gus", "customer", "nordwind"): False,
        ("gus", "customer_need", "need"): False,
        ("bob", "customer_need", "need"): True,
        ("gus", "initiative", "initiative"): False,
        ("sam", "issue", "login"): False,
    }
    assert {key: await linear.sees(*key) for key in expected} == expected
    people = {each.name: each for each in (await linear.source.directory()).people}
    assert "Robot" not in people
    assert not people["Sam Gone"].is_active


async def test_a_team_that_becomes_private_is_hidden_by_the_directory_alone(linear: Linear) -> None:
    assert await linear.sees("bob", "issue", "login")
    linear.world.workspace.edit("Team", linear.world["eng"], visibility="private")
    assert not await linear.sees("bob", "issue", "login")
    assert not await linear.sees("bob", "customer_need", "need")
    assert await linear.sees("gus", "issue", "login")


async def test_texts_no_longer_name_a_team_that_became_private_nor_its_issues(
    linear: Linear,
) -> None:
    space = linear.world.workspace
    led = records.add_initiative(space, "Silent launch", leadTeam=linear.world["eng"])
    below = records.add_initiative(space, "Sales 2027", parentInitiative=led)
    space.edit(
        "Project",
        linear.world["project"],
        initiatives=[led],
        teams=[linear.world["ops"], linear.world["eng"]],
    )
    await linear.settle()
    of_others = [
        GlobalRef(f"linear:issue:{linear.world['export']}"),
        GlobalRef(f"linear:project:{linear.world['project']}"),
        GlobalRef(f"linear:initiative:{below}"),
    ]

    def said(ref: GlobalRef) -> str:
        document = linear.received.documents[ref]
        return f"{document.content.decode()} {document.structure} {document.raw_payload}"

    names = ("ENG-1", "Engineering", "Silent launch")
    assert all(any(name in said(ref) for name in names) for ref in of_others)
    space.edit_silently("Team", linear.world["eng"], visibility="private")
    space.edit_silently("Initiative", led, visibility="private")
    await linear.sync()
    assert not any(name in said(ref) for name in names for ref in of_others)
    space.edit_silently("Team", linear.world["eng"], visibility="public")
    await linear.sync()
    assert "ENG-1" in said(of_others[0])


async def test_an_issue_is_shared_and_no_longer_shared(linear: Linear) -> None:
    bob, leak = linear.world["bob"], linear.world["leak"]
    linear.world.workspace.edit_silently("Issue", leak, sharedWith=[bob])
    assert await linear.sync() == []  # tags alone differ
    assert await linear.sees("bob", "issue", "leak")
    assert await linear.sees("bob", "comment", "secret_comment")
    linear.world.workspace.edit_silently("Issue", leak, sharedWith=[])
    assert not await linear.sees("bob", "issue", "leak")


@pytest.mark.parametrize("way", ["sync", "webhook"])
async def test_a_moved_issue_takes_its_comments_and_requests_along(
    linear: Linear, way: str
) -> None:
    await linear.settle()
    records.move_issue(linear.world.workspace, linear.world["login"], linear.world["sec"])
    await (linear.sync() if way == "sync" else linear.fetch("issue", "login"))
    document = linear.document("issue", "login")
    assert document.title == "SEC-2: Login fails after 10 minutes"
    assert document.structure.entities[0].aliases == ("ENG-1",)
    assert document.acl_tags == {linear.team("sec")}
    for name in ("comment", "reply"):
        assert linear.document("comment", name).acl_tags == {linear.team("sec")}
    assert linear.document("customer_need", "need").acl_tags == {f"{linear.team('sec')}:requests"}


async def test_a_project_that_leaves_a_team_takes_all_that_belongs_to_it_along(
    linear: Linear,
) -> None:
    await linear.settle()
    linear.world.workspace.edit("Project", linear.world["project"], teams=[linear.world["sec"]])
    await linear.sync()
    for kind, name in (
        ("project", "project"),
        ("project_update", "update"),
        ("document", "document"),
        ("comment", "inline"),
    ):
        assert linear.document(kind, name).acl_tags == {linear.team("sec")}, name


@pytest.mark.parametrize("way", ["sync", "webhook"])
async def test_what_is_trashed_is_gone_with_its_comments_and_returns_with_them(
    linear: Linear, way: str
) -> None:
    belonging = (("issue", "login"), ("comment", "comment"), ("customer_need", "need"))
    await linear.settle()
    linear.world.workspace.trash("Issue", linear.world["login"])
    await (linear.sync() if way == "sync" else linear.fetch("issue", "login"))
    assert [linear.has(*each) for each in belonging] == [False] * 3
    linear.world.workspace.restore("Issue", linear.world["login"])
    await (linear.sync() if way == "sync" else linear.fetch("issue", "login"))
    assert [linear.has(*each) for each in belonging] == [True] * 3


@pytest.mark.parametrize(
    ("type", "said"),
    [("triage", "open"), ("started", "open"), ("completed", "closed"), ("canceled", "closed"),
     ("duplicate", "closed"), ("dreaming", None)],
)  # fmt: skip
async def test_the_type_of_a_state_says_whether_an_issue_is_open_whatever_the_state_is_called(
    linear: Linear, type: str, said: str | None
) -> None:
    state = linear.world.workspace.rows["Issue"][linear.world["export"]]["state"]
    linear.world.workspace.edit("WorkflowState", str(state), type=type)
    await linear.sync()
    document = linear.document("issue", "export")
    assert document.metadata.get("work_state") == said


async def test_what_is_archived_stays_and_says_so(linear: Linear) -> None:
    linear.world.workspace.archive("Issue", linear.world["export"])
    await linear.sync()
    assert "Archived: 2026-11-02" in linear.received.text("issue", linear.world["export"])
    assert linear.document("issue", "export").metadata["archived"] == "2026-11-02"


async def test_a_second_sync_changes_nothing_and_a_third_only_what_changed(linear: Linear) -> None:
    linear.world.workspace.now += timedelta(hours=1)
    assert await linear.sync() == []
    linear.world.workspace.edit("Comment", linear.world["comment"], body="Only on Fridays.")
    assert await linear.sync() == [f"linear:comment:{linear.world['comment']}"]
    assert "Only on Fridays." in linear.received.text("comment", linear.world["comment"])
    # A touch that says nothing new is no change.
    linear.world.workspace.edit("Issue", linear.world["export"])
    assert await linear.sync() == []


async def test_a_new_attachment_or_relation_changes_its_issues(linear: Linear) -> None:
    space = linear.world.workspace
    space.now += timedelta(hours=1)
    await linear.sync()
    records.attach(space, linear.world["export"], "Pull request 7", "https://git.example/pull/7")
    assert await linear.sync() == [f"linear:issue:{linear.world['export']}"]
    records.relate(space, linear.world["export"], "duplicate", linear.world["login"])
    assert set(await linear.sync()) == {
        f"linear:issue:{linear.world[name]}" for name in ("export", "login")
    }
    assert "Duplicated by: OPS-1" in linear.received.text("issue", linear.world["login"])


async def test_nested_connections_are_read_to_their_ends(linear: Linear) -> None:
    space, login = linear.world.workspace, linear.world["login"]
    for number in range(130):
        records.attach(space, login, f"Call {number}", f"https://calls.example/{number}")
    labels = [records.add_label(space, f"L{number:02}") for number in range(12)]
    space.edit("Issue", login, labels=labels)
    teams = [records.add_team(space, f"T{number}", f"Team {number}") for number in range(9)]
    space.edit("Project", linear.world["project"], teams=teams)
    await linear.sync()
    text = linear.received.text("issue", login)
    assert text.count("https://calls.example/") == 130
    assert "L00, L01, L02, L03, L04, L05, L06, L07, L08, L09, L10, L11" in text
    assert len(linear.document("comment", "inline").acl_tags) == 9


async def test_a_deleted_object_is_missing_in_the_listing_and_removed_when_it_is_fetched(
    linear: Linear,
) -> None:
    linear.world.workspace.delete("Comment", linear.world["comment"])
    listed = {
        ref
        for stream in linear.source.streams
        async for refs in linear.source.list_present(stream)
        for ref in refs
    }
    missing = linear.received.documents.keys() - listed
    assert missing == {f"linear:comment:{linear.world['comment']}"}
    page = await linear.source.fetch(sorted(missing))
    assert (page.items, page.removed, page.cursor) == ((), tuple(missing), "")


async def test_what_is_no_reference_of_linear_is_removed_without_a_call(linear: Linear) -> None:
    asked = len(linear.server.requests)
    refs = [GlobalRef("linear:issue:' OR 1=1"), GlobalRef("linear:planet:1")]
    assert (await linear.source.fetch(refs)).removed == tuple(refs)
    assert len(linear.server.requests) == asked


async def test_comments_that_linear_hides_and_comments_of_unknown_places_are_left_out(
    linear: Linear,
) -> None:
    space = linear.world.workspace
    hidden = records.add_comment(space, "synced", issue=linear.world["login"])
    space.edit("Comment", hidden, hideInLinear=True)
    nowhere = records.add_comment(space, "On a post.")
    await linear.sync()
    stored = linear.received.documents
    assert f"linear:comment:{hidden}" not in stored
    assert f"linear:comment:{nowhere}" not in stored


async def test_an_object_of_another_form_is_reported_and_the_others_are_read(
    linear: Linear,
) -> None:
    linear.world.workspace.edit("Issue", linear.world["export"], title=None)
    linear.world.workspace.edit("Issue", linear.world["login"], description="NUL \0 \ud800 end")
    await linear.sync()
    (failed,) = {each.ref: each for each in linear.received.unreadable}.values()
    assert (failed.ref, failed.reason) == (f"linear:issue:{linear.world['export']}", "format")
    assert failed.message.endswith("not understood: title")
    assert "NUL   end" in linear.received.text("issue", linear.world["login"])


@pytest.mark.parametrize("last_page", [1, 4, 6, 7, 9, 12, 15, 18])
async def test_a_crash_after_any_page_loses_nothing(last_page: int) -> None:
    """Objects change between the pages, and the next process goes on from the stored cursors."""
    world = build_world()
    for number in range(60):
        records.add_issue(world.workspace, world["eng"], f"Issue {number}")
    server = LinearServer(workspace=world.workspace)
    asked: list[str] = []

    def edit_while_paging(name: str) -> None:
        asked.append(name)
        if len(asked) % 3 == 0 and name == "Issues":
            world.workspace.edit("Issue", world["export"], title=f"Version {len(asked)}")

    server.before = edit_while_paging
    async with connected(server) as source:
        received = Received()
        await received.sync(source, last_page=last_page)
        server.before = lambda name: None
        for _ in range(2):
            await received.sync(source)
        clean = Received()
        await clean.sync(source)
    assert received.documents == clean.documents
