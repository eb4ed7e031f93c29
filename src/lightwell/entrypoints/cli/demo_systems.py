"""The second part of `demo`: the example company's three business systems, synced and linked, and what is open with a customer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from lightwell.domain.answers import Answer
from lightwell.domain.business_systems import NewSource, SourceCounts
from lightwell.domain.errors import NotFound
from lightwell.domain.item_structure import LinkType
from lightwell.domain.links import LinkFilter, LinkStatus
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
class DemoAnswer:
    """The answer to a question that `who` asks; `person` describes them. `wrong` says what is wrong with it, "" if nothing is."""

    question: str
    who: str
    person: str
    answer: Answer
    wrong: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemsResult:
    """What was synced from each system, the certain links that are confirmed, and the answers."""

    counts: Mapping[str, SourceCounts]
    links: int
    answers: Sequence[DemoAnswer]


async def show_systems(kb: "KnowledgeBase") -> SystemsResult:
    """Sync the three systems, confirm the links that are certain, and ask what is open with a customer, as two people.

    The systems say who may see what: their accounts and memberships fill the directory.
    """
    counts = await sync_systems(kb)
    links = await _confirm_certain(kb, await _reader(kb, ASKERS[0]))
    answers = [
        await ask(
            kb,
            await _reader(kb, asker),
            QUESTION,
            who=(asker.email, f"{asker.name}, {asker.role}"),
            check=partial(check_systems, asker),
        )
        for asker in ASKERS
    ]
    return SystemsResult(counts=counts, links=links, answers=answers)


async def sync_systems(kb: "KnowledgeBase") -> dict[str, SourceCounts]:
    """Sync the three systems once, read what is new, and pause them; return the counts of each."""
    counts = {system: await _sync(kb, system) for system in SYSTEMS}
    await pause_systems(kb)
    await kb.ingestion.finish_jobs()
    return counts


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


async def ask(
    kb: "KnowledgeBase",
    reader: "Reader",
    question: str,
    *,
    who: tuple[str, str],
    check: Callable[[Answer], str],
) -> DemoAnswer:
    """Ask as one person, whom `who` names and describes; `check` returns what is wrong with the answer."""
    answer = await kb.questions.ask(question, reader)
    return DemoAnswer(
        question=question,
        who=who[0],
        person=who[1],
        answer=answer,
        wrong=check(answer),
    )


def check_systems(asker: Asker, answer: Answer) -> str:
    """Return how the cited systems differ from those that the person may see, "" if they do not."""
    cited = {citation.source_system for citation in answer.citations}
    if unseen := sorted(cited - asker.systems):
        return f"the answer cites {', '.join(unseen)}, which this person may not see"
    if missing := sorted(asker.systems - cited):
        return f"the answer should cite {', '.join(missing)}, too"
    return ""
