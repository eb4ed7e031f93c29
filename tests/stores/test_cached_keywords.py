"""Keywords by a model, asked through the cache on a real database."""

import json

import pytest

from lightwell.domain.access import ClassSet, Reader
from lightwell.domain.errors import ModelFailed, ModelRefused
from lightwell.domain.ids import ProjectId
from lightwell.domain.keywords import rule_keywords
from lightwell.domain.question_analysis import analyze_question
from lightwell.domain.usage import OperationType
from lightwell.models.meter import Meter, MeteredModel
from lightwell.records import access_classes
from lightwell.records.database import Database
from lightwell.records.llm_cache.cached_model import CachedModel
from lightwell.retrieve.keywords import (
    SCHEMA,
    UNANSWERED,
    UNUSABLE,
    extract_keywords,
)
from lightwell.testing.models import ScriptedModel, ScriptedReply


def reader_of(project_id: ProjectId, *tags: str, user: str = "") -> Reader:
    return Reader(project_id=project_id, tags=frozenset(tags), classes=ClassSet(), user=user)


QUESTION = "What discount does Nordwind Energie receive?"
REPLY = '{"high_level_keywords": ["price terms"], "low_level_keywords": ["Nordwind Energie"]}'


@pytest.fixture
async def project_id(database: Database) -> ProjectId:
    return await access_classes.get_or_create_project(database, "tenant", "project")


async def test_a_question_is_asked_about_once(database: Database, project_id: ProjectId) -> None:
    meter, model = Meter(), ScriptedModel([REPLY])
    metered = MeteredModel(inner=model, meter=meter, operation=OperationType.KEYWORD_EXTRACTION)
    asking = CachedModel(database, project_id, metered, slots=1)
    found = await extract_keywords(analyze_question(QUESTION), asking, reader_of(project_id))
    assert (found.keywords.high, found.keywords.low) == (("price terms",), ("Nordwind Energie",))
    assert (found.keywords.by_model, found.note) == (True, "")
    assert (
        await extract_keywords(analyze_question(QUESTION), asking, reader_of(project_id)) == found
    )
    assert [sent.schema for sent in model.sent] == [SCHEMA]
    assert meter.summary.by_operation_type.keys() == {OperationType.KEYWORD_EXTRACTION}
    stored = await database.rows("SELECT cache_type, result FROM extraction_cache", {})
    assert stored == [("KEYWORD_EXTRACTION", REPLY)]


@pytest.mark.parametrize(("seconds", "calls"), [(3600, 2), (3600 * 3, 1)])
async def test_after_its_time_it_is_asked_about_anew(
    database: Database, project_id: ProjectId, seconds: float, calls: int
) -> None:
    model = ScriptedModel([REPLY, REPLY])
    asking = CachedModel(database, project_id, model, slots=1)
    await extract_keywords(analyze_question(QUESTION), asking, reader_of(project_id))
    await database.execute(
        "UPDATE extraction_cache SET created_at = created_at - interval '2 hours'", {}
    )
    found = await extract_keywords(
        analyze_question(QUESTION), asking, reader_of(project_id), max_age_seconds=seconds
    )
    assert (len(model.sent), found.keywords.by_model) == (calls, True)


@pytest.mark.parametrize(
    ("says", "note"),
    [
        (ModelFailed("it is away"), UNANSWERED),
        (ModelRefused("no", response_text="I cannot help with that."), UNUSABLE),
        ("I'd rather write a poem.", UNUSABLE),
        ('{"high_level_keywords": [], "low_level_keywords": ["Somebody Else"]}', UNUSABLE),
    ],
)
async def test_where_the_model_is_of_no_use_the_question_speaks_and_a_note_says_so(
    database: Database, project_id: ProjectId, says: ScriptedReply, note: str
) -> None:
    asking = CachedModel(database, project_id, ScriptedModel([says]), slots=1)
    found = await extract_keywords(analyze_question(QUESTION), asking, reader_of(project_id))
    assert (found.keywords, found.note) == (rule_keywords(QUESTION), note)


@pytest.mark.parametrize(
    ("high", "low", "themes", "terms"),
    [
        (["price terms"], [], ("price terms",), ("Nordwind Energie",)),
        ([], ["Nordwind"], ("discount", "receive"), ("Nordwind Energie", "Nordwind")),
        (["Energie"], ["discount"], ("discount", "receive"), ("Nordwind Energie",)),
        (
            ["discount", "Nordwind Energie", "Energie prices"],
            ["Discount", "nordwind energie"],
            ("discount", "Energie prices"),
            ("Nordwind Energie",),
        ),
    ],
)
async def test_the_models_keywords_join_the_questions_names_each_on_one_level(
    database: Database,
    project_id: ProjectId,
    high: list[str],
    low: list[str],
    themes: tuple[str, ...],
    terms: tuple[str, ...],
) -> None:
    reply = json.dumps({"high_level_keywords": high, "low_level_keywords": low})
    found = await extract_keywords(
        analyze_question(QUESTION),
        CachedModel(database, project_id, ScriptedModel([reply]), slots=1),
        reader_of(project_id),
    )
    assert (found.keywords.high, found.keywords.low) == (themes, terms)


async def test_what_others_asked_costs_a_reader_the_same(
    database: Database, project_id: ProjectId
) -> None:
    """Whether the reply is there shows in usage, time and `cached_at`: so each reader has replies of its own."""
    readers = [
        reader_of(project_id, "team:a"),
        reader_of(project_id, "team:b"),
        reader_of(project_id, "team:a", "team:b"),
        reader_of(project_id, "team:a", user="ada"),
    ]
    model = ScriptedModel([REPLY] * len(readers))
    asking = CachedModel(database, project_id, model, slots=1)
    analysis = analyze_question(QUESTION)
    found = [await extract_keywords(analysis, asking, each) for each in readers]
    assert len(model.sent) == len(readers)
    assert len({each.keywords.cached_at for each in found}) == len(readers)
    assert {each.keywords.question_hash for each in found} == {analysis.keywords.question_hash}
    again = [await extract_keywords(analysis, asking, each) for each in readers]
    assert again == found
    assert len(model.sent) == len(readers)
