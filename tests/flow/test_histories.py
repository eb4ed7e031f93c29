"""Random histories in two worlds: what a reader observes is the same, whatever happened to what the reader may not see."""

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from uuid import uuid4

import pytest
from hypothesis import given

from lightwell.answer.pipeline import AnswerGenerator
from lightwell.ingest.extract.extraction_prompt import ExtractionSpec
from lightwell.ingest.extract.llm_extractor import LLMExtractor
from lightwell.ingest.summaries import Summarizer
from lightwell.knowledge_base import KnowledgeBase
from lightwell.ports import Message
from lightwell.records.database import Database
from lightwell.records.llm_cache.cached_model import CachedModel
from lightwell.testing.models import ScriptedModel
from lightwell.wiring import make_retriever
from tests.generation import examples
from tests.store_combinations import POSTGRES, Stores, on_servers

from .conftest import Project, project_on
from .histories import NAMES, QUESTIONS, Event, PutFile, System, World, histories
from .history_systems import open_linear, open_memory_system
from .observed import differences, observe

pytestmark = pytest.mark.usefixtures("many_classes")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How both worlds are made."""

    open_system: Callable[..., Awaitable[System]] = open_memory_system
    has_model: bool = False
    stores: Stores = POSTGRES


async def open_world(database: Database, setting: Setting, *, is_full: bool) -> World:
    """Return a world with the keys that both have, so that what is decided by ids is decided alike.

    An earlier world of this database goes: it would have the same ids.
    """
    await database.execute("DELETE FROM projects", {})
    project = await project_on(database, uuid4().hex, setting.stores)
    await database.execute(
        """
        UPDATE projects SET id_key = decode(repeat('ab', 32), 'hex'), hash_key = decode(repeat('cd', 32), 'hex')
        WHERE project_id = %(project)s
        """,
        {"project": project.kb.project_id},
    )
    if setting.has_model:
        project = _with_model(project)
    system = await setting.open_system(project, is_full=is_full)
    return World(kb=project.kb, system=system, is_full=is_full)


def _with_model(project: Project) -> Project:
    """Return the project with a model that extracts, finds keywords, summarises, and answers."""
    model = ScriptedModel(_reply)

    def cached() -> CachedModel:
        return CachedModel(project.database, project.kb.project_id, model, slots=4)

    summarizer = Summarizer(model=cached(), max_tokens=40)
    context = replace(
        project.context,
        extractor=LLMExtractor(cached(), ExtractionSpec(), max_gleanings=1),
        summarizer=summarizer,
    )
    kb = KnowledgeBase(
        context,
        make_retriever(context, keyword_model=cached()),
        AnswerGenerator(model=model),
        summarizer=summarizer,
    )
    return replace(project, kb=kb, context=context)


_NAME = re.compile("|".join(map(re.escape, sorted(NAMES, key=len, reverse=True))))


def _reply(messages: Sequence[Message]) -> str:
    """Return what the prompt asks for, made of the names in it: a graph, keywords, a summary, or an answer."""
    asked = messages[-1].content
    names = list(dict.fromkeys(_NAME.findall(asked)))
    if passage := re.search(r"~~~\n[^\n]*\n\n(.*?)\n~~~", asked, re.DOTALL):
        sentence = {"text": passage[1].split(". ")[0], "citations": [1]}
        return json.dumps({"answerable": True, "sentences": [sentence]})
    entities = [f"E|{name}|organization|{name} stands with {len(names)} names" for name in names]
    relations = [f"R|{names[0]}|{name}|USES|work|They work|5|0.9" for name in names[1:]]
    return "\n".join([*entities, *relations, "END"])


async def live(
    databases: tuple[Database, Database], events: Sequence[Event], setting: Setting
) -> tuple[dict[str, object], dict[str, object]]:
    """Let both worlds live through a history; return what Lea observes in the full one and in the lesser one.

    It is observed after each sixth event, too, because what was read once may be kept; it ends at the first difference.
    """
    full = await open_world(databases[0], setting, is_full=True)
    lesser = await open_world(databases[1], setting, is_full=False)
    views: list[dict[str, object]] = [{}, {}]
    for number, event in enumerate(events, 1):
        for world in (full, lesser):
            await event.apply(world)
        if number % 6 == 0 or number == len(events):
            views = [
                await observe(world.kb, await world.reader("Lea"), Random(number), NAMES, QUESTIONS)
                | {"outcomes": list(world.outcomes)}
                for world in (full, lesser)
            ]
            if views[0] != views[1]:
                break
    return views[0], views[1]


@examples(3, thorough=400)
@given(histories())
async def test_nothing_invisible_is_felt_whatever_happened(
    database: Database, other_database: Database, events: Sequence[Event]
) -> None:
    full, lesser = await live((database, other_database), events, Setting())
    assert differences(full, lesser) == []


@examples(2, thorough=200)
@given(histories())
async def test_nothing_invisible_is_felt_through_a_model(
    database: Database, other_database: Database, events: Sequence[Event]
) -> None:
    setting = Setting(has_model=True)
    full, lesser = await live((database, other_database), events, setting)
    assert differences(full, lesser) == []


@examples(2, thorough=300)
@given(histories())
async def test_nothing_invisible_is_felt_through_a_business_system(
    database: Database, other_database: Database, events: Sequence[Event]
) -> None:
    setting = Setting(open_system=open_linear)
    full, lesser = await live((database, other_database), events, setting)
    assert differences(full, lesser) == []


@on_servers
@examples(1, thorough=25)
@given(histories(most=12))
async def test_nothing_invisible_is_felt_on_servers_whatever_happened(
    database: Database, other_database: Database, stores: Stores, events: Sequence[Event]
) -> None:
    full, lesser = await live((database, other_database), events, Setting(stores=stores))
    assert differences(full, lesser) == []


async def test_a_history_would_feel_one_visible_document(
    database: Database, other_database: Database
) -> None:
    plain = PutFile(1, ("team:l",), 11)
    one, _ = await live((database, other_database), [plain], Setting())
    two, _ = await live((database, other_database), [plain, PutFile(2, ("team:l",), 12)], Setting())
    assert differences(one, two)
