"""An afternoon at Halden Instruments: three people ask a bot in their own chats and in a group, and nobody learns what is not theirs."""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr

from lightwell.connectors.files import Files
from lightwell.domain.answers import INSUFFICIENT
from lightwell.domain.directory import PersonChange
from lightwell.domain.scopes import Scope
from lightwell.entrypoints.channels.conversation import GONE
from lightwell.entrypoints.cli.demo_systems import sync_systems
from lightwell.entrypoints.cli.store import open_store_project
from lightwell.knowledge_base.channel_accounts import BoundGroups, OwnAccounts
from lightwell.knowledge_base.directory import Directory
from lightwell.records.database import Database, connect
from lightwell.settings import Settings
from lightwell.testing.example_company import ExampleCompany, fill_pilots
from lightwell.world import DOCUMENTS
from tests.channels.messengers import Messenger, Shown
from tests.entrypoints.http_site import Site, open_site
from tests.patience import PATIENCE

READ, INGEST, CURATE = Scope.READ, Scope.INGEST, Scope.CURATE
PEOPLE = {
    "Tomas": ("tomas.brandt@halden.example", {"tenant:halden"}, {READ, CURATE}),
    "Grace": ("grace@halden.example", {"tenant:halden", "team:sales"}, {READ}),
    "Bob": ("bob@halden.example", {"tenant:halden", "team:support"}, {READ, INGEST}),
}
"""Who asks: their addresses, their tags beside those that the three systems give them, and what they may do."""

FOLDERS = ("company", "sales", "support")
NOTE = b"The depot in Lubeck keeps nine spare Fjell G1 gateways. Nora Lie has the key."


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Something that was said or done; `is_bot` for what the bot said thereupon, `where` says to whom."""

    who: str
    text: str
    where: str = ""
    is_bot: bool = False
    buttons: tuple[str, ...] = ()


@dataclass(kw_only=True)
class Afternoon:
    """A server with a bot on one platform, three people, and what happens, in chapters."""

    url: str
    messenger: Messenger
    database: Database
    chapters: dict[str, list[Line]] = field(default_factory=dict[str, list[Line]])
    site: Site | None = None
    group: str = ""
    _before: dict[tuple[str, bool, str], Shown] = field(
        default_factory=dict[tuple[str, bool, str], Shown]
    )
    _told: dict[str, int] = field(default_factory=dict[str, int])
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    # ── the server ──────────────────────────────────────────────────────────────────────────────────

    async def start(self) -> None:
        values = {"http.worker": True, **self.messenger.settings()}
        self.site = await self._stack.enter_async_context(open_site(self.url, values))

    async def stop(self) -> None:
        await self._stack.aclose()
        self.site = None

    @property
    def running(self) -> Site:
        assert self.site is not None
        return self.site

    @property
    def directory(self) -> Directory:
        return Directory(database=self.database, project_id=self.running.kb.project_id)

    @property
    def groups(self) -> BoundGroups:
        return BoundGroups(database=self.database, project_id=self.running.kb.project_id)

    async def code(self, name: str) -> str:
        """Return a code with which a person links an account, as soon as the bot has said that it runs."""
        person = await self.directory.get_person(PEOPLE[name][0])
        own = OwnAccounts(
            database=self.database, project_id=self.running.kb.project_id, person=person.id
        )
        async with asyncio.timeout(PATIENCE):
            while not await self.database.values("SELECT 1 FROM channel_bots", {}):  # noqa: ASYNC110 - another task notes it
                await asyncio.sleep(0.05)
        return (await own.make_code(self.messenger.platform)).secret.text

    async def unanswered(self) -> int:
        query = "SELECT count(*) FROM channel_updates WHERE answered_at IS NULL"
        return int(await self.database.value(query, {}))

    # ── what people do ──────────────────────────────────────────────────────────────────────────────

    def chapter(self, title: str) -> None:
        self.chapters[title] = []

    async def say(
        self, name: str, text: str, *, in_group: bool = False, shown: str = ""
    ) -> list[Line]:
        """Have a person say something, and return what the bot says thereupon."""
        self._note(Line(who=name, text=shown or text, where="in the group" if in_group else ""))
        await self.messenger.say(name, text, in_group=in_group)
        return await self.answered()

    async def press(self, name: str, label: str, *, in_group: bool = False) -> list[Line]:
        where = "in the group" if in_group else ""
        self._note(Line(who=name, text=f"[{label.strip('[]')}]", where=where))
        await self.messenger.press(name, label, in_group=in_group)
        return await self.answered()

    async def send_file(self, name: str, title: str, content: bytes) -> list[Line]:
        self._note(Line(who=name, text=f"📎 {title}"))
        await self.messenger.send_file(name, title, content)
        return await self.answered()

    async def send_voice(self, name: str) -> list[Line]:
        self._note(Line(who=name, text="🎤"))
        await self.messenger.send_voice(name)
        return await self.answered()

    async def ask_unanswered(self, name: str, text: str) -> None:
        self._note(Line(who=name, text=text))
        await self.messenger.say(name, text)

    def administer(self, words: str) -> None:
        self._note(Line(who="", text=words))

    async def answered(self) -> list[Line]:
        """Wait until the bot has answered all, and return what is new, or other than before."""
        await self.messenger.received()
        async with asyncio.timeout(PATIENCE):
            while await self.unanswered():  # noqa: ASYNC110 - the database says so
                await asyncio.sleep(0.05)
        new = list(self._new())
        for line in new:
            self._note(line)
        return new

    def _new(self) -> Iterator[Line]:
        said = set[str]()
        for name in (*PEOPLE, "Mallory"):
            notices = self.messenger.notices(name)
            for words in notices[self._told.get(name, 0) :]:
                yield Line(who=name, text=words, where=f"to {name}, beside the button", is_bot=True)
            self._told[name] = len(notices)
            for in_group in (False, True) if self._is_member(name) else (False,):
                for shown in self.messenger.seen(name, in_group=in_group):
                    key = (name, in_group, shown.id)
                    if self._before.get(key) == shown:
                        continue
                    self._before[key] = shown
                    if in_group and not shown.is_alone:
                        if shown.id in said:
                            continue
                        said.add(shown.id)
                    where = (
                        f"to {name}"
                        if not in_group
                        else f"in the group, to {name} alone"
                        if shown.is_alone
                        else "in the group, to all"
                    )
                    yield Line(
                        who=name,
                        text=shown.text.strip(),
                        where=where,
                        is_bot=True,
                        buttons=shown.buttons,
                    )

    def _is_member(self, name: str) -> bool:
        return bool(self.group) and name in PEOPLE

    def _note(self, line: Line) -> None:
        self.chapters[next(reversed(self.chapters))].append(line)


@asynccontextmanager
async def afternoon(url: str, messenger: Messenger) -> AsyncGenerator[Afternoon]:
    """Yield a bot on a server over a database that `fill` has filled."""
    async with connect(url) as database:
        opened = Afternoon(url=url, messenger=messenger, database=database)
        for name, (email, _, _) in PEOPLE.items():
            messenger.add(name, email)
        messenger.add("Mallory", PEOPLE["Grace"][0])  # whose address she claims
        await opened.start()
        try:
            for email, tags, scopes in PEOPLE.values():
                change = PersonChange(acl_tags=frozenset(tags), scopes=frozenset(scopes))
                await opened.directory.change_person(email, change)
            await opened.directory.save_group("Support", frozenset({"team:support"}))
            await opened.directory.add_members("Support", [PEOPLE["Bob"][0]])
            yield opened
        finally:
            await opened.stop()


async def fill(url: str) -> None:
    """Store the company's documents and its three systems."""
    company = ExampleCompany()
    fill_pilots(company)
    settings = Settings(database_url=SecretStr(url))
    async with open_store_project(settings, open_source=company.open) as kb:
        for folder in FOLDERS:
            await kb.ingestion.ingest(Files(Path(DOCUMENTS) / folder, frozenset()))
        await sync_systems(kb)


# ── the afternoon ─────────────────────────────────────────────────────────────────────────────────────

DISCOUNT = "What discount does Nordwind Energie receive?"
LINKING = "Linking accounts"
SHARE = "Share here"
TRAINING, REPLACEMENT = "training day for eight installers", "by 12 June 2026"
MARK = re.compile(r"\[\d\]")
REPLACED = "When are the sensors in the harbour district replaced?"
GATEWAY = "How long does the gateway keep readings when it has no connection?"
DEPOT = "How many spare Fjell G1 gateways does the depot in Lubeck keep?"
DEAL = "Nordwind southern network"
PILOT = "Leak survey pilot"


async def spend(day: Afternoon) -> None:
    """Have all of it happen."""
    for part in (
        strangers,
        linking,
        questions,
        systems,
        names,
        links,
        group,
        files,
        restart,
        leaving,
    ):
        await part(day)


async def strangers(day: Afternoon) -> None:
    day.chapter("Who asks")
    assert "link this account" in words(await day.say("Mallory", DISCOUNT))


async def linking(day: Afternoon) -> None:
    """Have everybody link an account: by a code, and where a workspace is trusted by its address."""
    day.chapter(LINKING)
    for name in PEOPLE:
        if name in day.messenger.known:
            said = words(await day.say(name, "/status"))
            assert f"You are {name}" in said
            continue
        code = await day.code(name)
        said = words(await day.say(name, f"/start {code}", shown="/start CODE"))
        assert f"I answer you as {name}" in said


async def questions(day: Afternoon) -> None:
    day.chapter("A question")
    (answer,) = await day.say("Grace", DISCOUNT)
    assert "18 percent" in answer.text
    assert "page 2" in answer.text
    assert "🖼" in words(await day.press("Grace", answer.buttons[0]))
    assert "18 percent" not in words(await day.say("Bob", DISCOUNT))
    refused = words(await day.say("Bob", "Who won the football match?"))
    assert refused.startswith(INSUFFICIENT)
    assert "cannot read a voice message" in words(await day.send_voice("Bob"))


async def systems(day: Afternoon) -> None:
    day.chapter("Briefs and promises")
    (brief,) = await day.say("Tomas", "/brief Nordwind Energie GmbH")
    cited = [label for label in brief.buttons if label.strip("[]").isdigit()]
    assert 3 <= len(cited) <= 5
    (owed,) = await day.say("Tomas", "/promises")
    assert all(fact in owed.text for fact in (TRAINING, REPLACEMENT))
    assert all(MARK.search(line) for line in owed.text.splitlines() if line.startswith("• "))
    assert "training day" in words(await day.press("Tomas", owed.buttons[0]))
    for name, right, wrong in (("Grace", TRAINING, REPLACEMENT), ("Bob", REPLACEMENT, TRAINING)):
        said = words(await day.say(name, "/promises"))
        assert (right in said, wrong in said) == (True, False)
    assert "12 June 2026" in words(await day.say("Bob", REPLACED))
    assert "12 June 2026" not in words(await day.say("Grace", REPLACED))


async def names(day: Afternoon) -> None:
    day.chapter("Which one?")
    (several,) = await day.say("Tomas", f"/brief {PILOT}")
    assert "may mean 3" in several.text
    assert len(set(several.buttons)) == 3
    (ravensbrook,) = (label for label in several.buttons if "Ravensbrook" in label)
    (brief,) = await day.press("Tomas", ravensbrook)
    assert "Ravensbrook Water Ltd" in brief.text
    (again,) = await day.say("Tomas", f"/brief {PILOT}")
    assert again.text == brief.text
    assert "Ravensbrook" not in words(await day.say("Bob", f"/brief {PILOT}"))


async def links(day: Afternoon) -> None:
    day.chapter("Links")
    (proposed,) = await day.say("Tomas", f"/links {DEAL}")
    assert proposed.buttons == ("Yes", "No")
    assert "Confirmed: " in words(await day.press("Tomas", "Yes"))
    (theirs,) = await day.say("Bob", f"/links {DEAL}")  # of which there is no deal for him
    assert "deal" not in theirs.text
    assert not {"Yes", "No"} & set(theirs.buttons)


async def group(day: Afternoon) -> None:
    day.chapter("In a group")
    day.group = day.messenger.group("Nordwind", *PEOPLE)
    (alone,) = await day.say("Grace", DISCOUNT, in_group=True)
    assert "18 percent" in alone.text
    assert alone.where == "in the group, to Grace alone"
    assert "bound to no access tags" in words(await day.press("Grace", SHARE, in_group=True))
    everybody = frozenset({"tenant:halden"})
    await day.groups.bind(day.messenger.platform, day.group, everybody)
    day.administer("lightwell channels bind GROUP --acl tenant:halden")
    assert "Not everybody" in words(await day.press("Grace", SHARE, in_group=True))
    assert "72 hours" in words(await day.say("Bob", GATEWAY, in_group=True))
    shared = await day.press("Bob", SHARE, in_group=True)
    assert "72 hours" in words([line for line in shared if line.where == "in the group, to all"])
    for_all = [line for lines in day.chapters.values() for line in lines if "to all" in line.where]
    assert "18 percent" not in words(for_all)


async def files(day: Afternoon) -> None:
    day.chapter("A document")
    (choice,) = await day.send_file("Bob", "depot.txt", NOTE)
    assert {"Support", "Discard"} <= set(choice.buttons)
    said = words(await day.press("Bob", "Support"))
    assert "you can ask about it" in said.casefold()  # its vectors may follow
    assert "nine" in words(await day.say("Bob", DEPOT))
    assert "nine" not in words(await day.say("Grace", DEPOT))
    assert "not add any" in words(await day.send_file("Grace", "depot.txt", NOTE))
    await day.say("Bob", "/new")


async def restart(day: Afternoon) -> None:
    """Stop the server while the platform takes no answer; meanwhile one more question comes, and all of the afternoon is delivered once more."""
    day.chapter("The server is restarted")
    day.messenger.fail()
    await day.ask_unanswered("Grace", DISCOUNT)
    await day.messenger.received()
    await day.stop()
    day.administer("The server stops, and starts again.")
    await day.ask_unanswered("Bob", GATEWAY)
    await day.messenger.repeat()
    day.messenger.recover()
    await day.start()
    said = await day.answered()
    assert [(line.who, "18 percent" in line.text, "72 hours" in line.text) for line in said] == [
        ("Grace", True, False),
        ("Bob", False, True),
    ]
    assert await day.answered() == []


async def leaving(day: Afternoon) -> None:
    day.chapter("Grace leaves")
    await day.directory.change_person(PEOPLE["Grace"][0], PersonChange(active=False))
    day.administer("lightwell people change grace@halden.example --deactivate")
    (pressed,) = await day.press("Grace", "[1]")
    assert pressed.text == GONE
    assert "link this account" in words(await day.say("Grace", DISCOUNT))


def words(lines: list[Line]) -> str:
    return "\n".join(line.text for line in lines)
