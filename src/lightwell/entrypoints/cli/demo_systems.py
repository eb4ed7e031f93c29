"""The second part of `demo`: the example company's three business systems, synced and linked, and what is open with a customer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import lightwell.entrypoints.operations.questions as operations
from lightwell.domain.answers import Answer
from lightwell.domain.business_systems import NewSource, SourceCounts
from lightwell.domain.errors import NotFound
from lightwell.domain.item_structure import LinkType
from lightwell.domain.links import LinkFilter, LinkStatus
from lightwell.entrypoints.cli.remote import dump
from lightwell.testing.example_company import SYSTEMS

if TYPE_CHECKING:
    from lightwell.domain.access import Reader
    from lightwell.knowledge_base import KnowledgeBase

QUESTION = "What is open with Nordwind?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """One who asks across the systems, and the systems whose items they may see."""

    email: str
    name: str
    role: str
    systems: frozenset[str]


ASKERS = (
    Asker(
        email="tomas.brandt@halden.example",
        name="Tomas Brandt",
        role="head of sales, who has accounts in all three systems",
        systems=frozenset({"attio", "chatwoot", "linear"}),
    ),
    Asker(
        email="bob@halden.example",
        name="Bob Okafor",
        role="head of support, who has no account in Attio and reads the board's issues",
        systems=frozenset({"chatwoot", "linear"}),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemAnswer:
    """One person's answer across the systems; `wrong` says what is wrong with it, "" if nothing is."""

    asker: Asker
    answer: Answer
    wrong: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemsResult:
    """What was synced from each system, the certain links that are confirmed, and the answers."""

    question: str
    counts: Mapping[str, SourceCounts]
    links: int
    answers: Sequence[SystemAnswer]

    @property
    def problems(self) -> list[str]:
        unread = [
            f"{system}: {counts.unreadable} items could not be read"
            for system, counts in self.counts.items()
            if counts.unreadable
        ]
        return unread + [f"{each.asker.name}: {each.wrong}" for each in self.answers if each.wrong]

    def questions_as_json(self) -> list[dict[str, object]]:
        """Return the answers as from `ask`, each with who asks."""
        return [
            {
                "as": given.asker.email,
                **dump(operations.Answer.model_validate(given.answer)),
            }
            for given in self.answers
        ]


async def show_systems(kb: "KnowledgeBase") -> SystemsResult:
    """Sync the three systems, confirm the links that are certain, and ask what is open with a customer, as two people.

    The systems say who may see what: their accounts and memberships fill the directory.
    """
    counts = {system: await _sync(kb, system) for system in SYSTEMS}
    await pause_systems(kb)
    await kb.ingestion.finish_jobs()
    links = await _confirm_certain(kb, await _reader(kb, ASKERS[0]))
    answers = [await _ask(kb, asker) for asker in ASKERS]
    return SystemsResult(question=QUESTION, counts=counts, links=links, answers=answers)


async def pause_systems(kb: "KnowledgeBase") -> None:
    """Pause the demo's sources: the stand-ins end with this process, and a server has nothing to sync them with."""
    for source in await kb.sources.list():
        if not source.is_paused:
            await kb.sources.pause(source.name)


async def _sync(kb: "KnowledgeBase", system: str) -> SourceCounts:
    from lightwell.ingest.item_sync import SyncRequest

    try:
        await kb.sources.get(system)
    except NotFound:
        await kb.sources.create(NewSource(name=system, system=system, adds_people=True))
    report = await kb.sources.sync(system, SyncRequest(is_full=True))
    return report.counts


async def _confirm_certain(kb: "KnowledgeBase", reader: "Reader") -> int:
    """Confirm the proposals that are certain, as a person would; return how many links join entities of two systems."""
    links = kb.graph.links
    for link in await links.list_links(reader, LinkFilter(type=LinkType.SAME_AS)):
        if link.is_certain:
            await links.confirm(reader, link.id)
    confirmed = LinkFilter(status=LinkStatus.CONFIRMED, type=LinkType.SAME_AS)
    return len(await links.list_links(reader, confirmed))


async def _reader(kb: "KnowledgeBase", asker: Asker) -> "Reader":
    from lightwell.knowledge_base.directory import Directory

    directory = Directory(database=kb.sources.context.database, project_id=kb.project_id)
    return await kb.reader((await directory.get_person(asker.email)).tags)


async def _ask(kb: "KnowledgeBase", asker: Asker) -> SystemAnswer:
    answer = await kb.questions.ask(QUESTION, await _reader(kb, asker))
    return SystemAnswer(
        asker=asker,
        answer=answer,
        wrong=check_systems(asker, answer),
    )


def check_systems(asker: Asker, answer: Answer) -> str:
    """Return how the cited systems differ from those that the person may see, "" if they do not."""
    cited = {each.source_system for each in answer.citations}
    if unseen := sorted(cited - asker.systems):
        return f"the answer cites {', '.join(unseen)}, which this person may not see"
    if missing := sorted(asker.systems - cited):
        return f"the answer should cite {', '.join(missing)}, too"
    return ""
