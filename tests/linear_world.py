"""A workspace of Linear for tests, the connector to it, and what it has delivered so far."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx

from lightwell.connectors.api_client import ApiClient
from lightwell.connectors.linear.api import LinearApi, rate_limit_wait
from lightwell.connectors.linear.source import LinearSource
from lightwell.domain.documents import NewDocument
from lightwell.domain.ids import GlobalRef
from lightwell.domain.item_structure import StatedEntity
from lightwell.domain.source_items import ItemPage, UnreadableItem
from lightwell.testing.linear import records
from lightwell.testing.linear.server import TOKEN, WEBHOOK_SECRET, LinearServer
from lightwell.testing.linear.workspace import LinearWorkspace

CONVERSATION = "https://chat.halden.example/app/accounts/1/conversations/42"


@asynccontextmanager
async def connected(server: LinearServer, token: str = TOKEN) -> AsyncGenerator[LinearSource]:
    """The connector to the server, without a socket."""
    transport = httpx.ASGITransport(app=server.app)
    async with httpx.AsyncClient(
        transport=transport,
        base_url="https://api.linear.example",
        headers={"Authorization": token},
    ) as client:
        api = LinearApi(
            api=ApiClient(name="Linear", client=client, rate_limit_wait=rate_limit_wait)
        )
        yield LinearSource(
            api=api, webhook_secret=WEBHOOK_SECRET, clock=lambda: server.workspace.now
        )


@dataclass(frozen=True)
class World:
    """A small company's workspace. Names stand for ids."""

    workspace: LinearWorkspace = field(default_factory=LinearWorkspace)
    ids: dict[str, str] = field(default_factory=dict[str, str])

    def __getitem__(self, name: str) -> str:
        return self.ids[name]


def build_world() -> World:
    """Two public teams and a private one; ada and bob are members, gus is a guest of one team, sam has left."""
    world = World()
    space, ids = world.workspace, world.ids
    ids["ada"] = records.add_user(space, "Ada Lovelace", "ada@halden.example")
    ids["bob"] = records.add_user(space, "Bob Stone", "bob@halden.example")
    ids["gus"] = records.add_user(space, "Gus Guest", "gus@partner.example", guest=True)
    ids["sam"] = records.add_user(space, "Sam Gone", "sam@halden.example", active=False)
    ids["app"] = records.add_user(space, "Robot", "robot@apps.example", app=True)
    ids["eng"] = records.add_team(space, "ENG", "Engineering", [ids["ada"], ids["gus"], ids["sam"]])
    ids["ops"] = records.add_team(space, "OPS", "Operations", [ids["bob"]])
    ids["sec"] = records.add_team(space, "SEC", "Security", [ids["ada"]], "private")
    ids["initiative"] = records.add_initiative(space, "Enterprise 2027", owner=ids["ada"])
    ids["project"] = records.add_project(
        space,
        "Single sign-on",
        [ids["eng"], ids["sec"]],
        lead=ids["ada"],
        creator=ids["ada"],
        description="Customers log in with their own accounts.",
        content="We begin with **OIDC**.",
        initiatives=[ids["initiative"]],
    )
    ids["update"] = records.add_update(
        space, "OIDC works in staging.", ids["ada"], project=ids["project"]
    )
    ids["initiative_update"] = records.add_update(
        space, "Two of three projects are on track.", ids["ada"], initiative=ids["initiative"]
    )
    ids["login"] = records.add_issue(
        space,
        ids["eng"],
        "Login fails after 10 minutes",
        "The session ends after **600 seconds**, whatever the setting says.",
        creator=ids["bob"],
        assignee=ids["ada"],
        project=ids["project"],
        priorityLabel="Urgent",
        labels=[records.add_label(space, "Bug"), records.add_label(space, "Auth")],
    )
    ids["export"] = records.add_issue(space, ids["ops"], "Export is slow", parent=ids["login"])
    ids["leak"] = records.add_issue(space, ids["sec"], "Tokens in log files", "Rotate all keys.")
    records.relate(space, ids["login"], "blocks", ids["export"])
    records.relate(space, ids["leak"], "blocks", ids["login"])
    ids["attachment"] = records.attach(
        space, ids["login"], "Conversation with Nordwind", CONVERSATION, subtitle="open"
    )
    ids["comment"] = records.add_comment(
        space, "Reproduced with the *staging* tenant.", issue=ids["login"], user=ids["bob"]
    )
    ids["reply"] = records.add_comment(
        space, "A fix is on the way.", issue=ids["login"], user=ids["ada"], parentId=ids["comment"]
    )
    ids["secret_comment"] = records.add_comment(
        space, "The key of staging leaked, too.", issue=ids["leak"], user=ids["ada"]
    )
    ids["document"], ids["content"] = records.add_document(
        space,
        "Session design",
        "Sessions live in *Redis*.",
        project=ids["project"],
        creator=ids["ada"],
    )
    ids["inline"] = records.add_comment(
        space,
        "Why not PostgreSQL?",
        documentContent=ids["content"],
        user=ids["bob"],
        quotedText="Sessions live in Redis.",
    )
    ids["nordwind"] = records.add_customer(
        space, "Nordwind Logistik", ["nordwind.example"], owner=ids["bob"], externalIds=["crm-7"]
    )
    ids["need"] = records.add_need(
        space, ids["nordwind"], "They cannot work with ten minutes.", issue=ids["login"], priority=1
    )
    return world


@dataclass
class Received:
    """What a store has after the pages that it was given, and where each stream goes on."""

    documents: dict[GlobalRef, NewDocument] = field(default_factory=dict[GlobalRef, NewDocument])
    cursors: dict[str, str] = field(default_factory=dict[str, str])
    unreadable: list[UnreadableItem] = field(default_factory=list[UnreadableItem])
    changes: list[GlobalRef] = field(default_factory=list[GlobalRef])
    pages: int = 0

    def add(self, page: ItemPage) -> None:
        self.pages += 1
        self.unreadable += page.unreadable
        for item in page.items:
            (document,) = item.documents
            old = self.documents.get(item.ref)
            if not old or old.content_hash != document.content_hash:
                self.changes.append(item.ref)
            self.documents[item.ref] = document
        for ref in page.removed:
            if self.documents.pop(ref, None):
                self.changes.append(ref)

    async def sync(self, source: LinearSource, *, last_page: int = 10**9) -> None:
        """Pull every stream; end after so many pages, as a crash would."""
        for stream in source.streams:
            async for page in source.pull(stream, self.cursors.get(stream, "")):
                self.add(page)
                self.cursors[stream] = page.cursor
                if self.pages >= last_page:
                    return

    def text(self, kind: str, id: str) -> str:
        return self.documents[GlobalRef(f"linear:{kind}:{id}")].content.decode()


def links_of(document: NewDocument) -> set[tuple[str, str, str]]:
    """The document's links as names: source, relation, target."""
    names: Mapping[GlobalRef, StatedEntity] = {
        each.ref: each for each in document.structure.entities
    }
    return {
        (names[link.source].name, link.relation, names[link.target].name)
        for link in document.structure.links
    }
