"""A host's part of a backfill: opens the project from the host's own settings, and ingests one portion.

A host refuses what its settings do not name: another project, another database, another version, or settings that
would make other passages or another graph of the same documents.
"""

import asyncio
import resource
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from operator import attrgetter

from pydantic import TypeAdapter

from lightwell.domain.errors import (
    BudgetSpent,
    Invalid,
    ModelFailed,
    NotFound,
    ParserFailed,
    StoreFailed,
)
from lightwell.domain.ids import ProjectId
from lightwell.ingest.backfill import Portion, PortionResult
from lightwell.ingest.derived_data import describe_profiles
from lightwell.ingest.passage_reading import read_some
from lightwell.ingest.progress import DocumentOutcome
from lightwell.ingest.worker import run_claimable
from lightwell.models.meter import Meter
from lightwell.records import projects
from lightwell.records.database import Database, has_schema
from lightwell.records.graph.profile_queue import ALL_DUE
from lightwell.settings import VARIABLES, Settings, settings_from_environment
from lightwell.wiring.database import database_server
from lightwell.wiring.projects import open_ingestion
from lightwell.wiring.resources import open_resources

_ALIKE = (
    "LIGHTWELL_TENANT",
    "LIGHTWELL_PROJECT",
    "LIGHTWELL_EXTRACTION",
    "LIGHTWELL_EXTRACTION_FORM",
    "LIGHTWELL_EXTRACTION_LANGUAGE",
    "LIGHTWELL_ENTITY_KINDS",
    "LIGHTWELL_GLEANING_ENABLED",
    "LIGHTWELL_GLEANING_PASSES",
    "LIGHTWELL_CHAT_MODEL",
    "LIGHTWELL_DESCRIPTION_MAX_TOKENS",
    "LIGHTWELL_DESCRIPTION_SEPARATOR",
    "LIGHTWELL_MAX_SOURCE_IDS",
    "LIGHTWELL_SOURCE_ID_STRATEGY",
    "LIGHTWELL_MAX_DOCUMENT_CHUNKS",
    "LIGHTWELL_VECTOR_STORE",
    "LIGHTWELL_GRAPH_STORE",
)
"""Settings on which it depends what is stored; a host must have them as the command has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A portion with what a host compares with its own: version, settings without secrets, project and database."""

    version: str
    settings: Mapping[str, str]
    project_id: ProjectId
    database: str
    portion: Portion


_ASSIGNMENT = TypeAdapter(Assignment)
_RESULT = TypeAdapter(PortionResult)


async def make_assignment(settings: Settings, database: Database) -> Assignment:
    """Return what hosts must have in common with this process, with an empty portion."""
    return Assignment(
        version=version("lightwell"),
        settings=_settings_alike(settings),
        project_id=await projects.find(database, settings.tenant, settings.project),
        database=await projects.identify_database(database),
        portion=Portion(),
    )


def encode(assignment: Assignment, portion: Portion) -> str:
    """Return the assignment of this portion as JSON."""
    return _ASSIGNMENT.dump_json(replace(assignment, portion=portion)).decode()


def decode_result(reply: str) -> PortionResult:
    """Return the result that a host has sent; raise `ValidationError`."""
    return _RESULT.validate_json(reply)


def work(assignment: str, host: str) -> str:
    """Ingest the portion of this assignment and return its result, both as JSON. A cancellation gives the jobs back."""
    return _RESULT.dump_json(asyncio.run(ingest_portion(assignment, host))).decode()


async def ingest_portion(assignment: str, host: str) -> PortionResult:
    """Ingest what can be claimed of the portion; an error that a backfill must know of is in the result."""
    parsed = _ASSIGNMENT.validate_json(assignment)
    ended: list[DocumentOutcome] = []
    meter, began = Meter(parsed.portion.tokens), _cpu_seconds()
    result = PortionResult(host=host)
    try:
        await _ingest(parsed, meter, ended)
    except BudgetSpent as error:
        result = replace(result, end="spent", message=str(error))
    except ModelFailed as error:
        result = replace(result, end="model", message=str(error))
    except (StoreFailed, ParserFailed) as error:
        result = replace(result, end="store", message=str(error))
    except (Invalid, NotFound) as error:
        result = replace(result, end="refused", message=str(error))
    return replace(
        result,
        ingested=sum(1 for outcome in ended if not outcome.error),
        failed=sum(1 for outcome in ended if outcome.error),
        chunks=sum(outcome.chunks for outcome in ended),
        cpu_seconds=_cpu_seconds() - began,
        calls=tuple(meter.usages),
        spent=meter.spent_tokens,
    )


async def _ingest(assignment: Assignment, meter: Meter, ended: list[DocumentOutcome]) -> None:
    settings = settings_from_environment()
    _compare_settings(assignment, settings)
    async with database_server(settings) as conninfo:
        if not await has_schema(conninfo):
            raise Invalid(_OTHER_DATABASE)
        async with open_resources(settings, meter) as resources:
            await _compare_project(assignment, settings, resources.database)
            context = await open_ingestion(resources, assignment.project_id)
            if assignment.portion.profiles:
                while await read_some(context):
                    pass
                await describe_profiles(context, ALL_DUE)
                return
            only = replace(context, only=assignment.portion.documents)
            await run_claimable(only, ended.append, asyncio.Event())


_OTHER_DATABASE = (
    "this host has another database. Set LIGHTWELL_DATABASE_URL there as for the command,"
    " before Ray is started on it"
)


def _compare_settings(assignment: Assignment, settings: Settings) -> None:
    """Raise `Invalid` where this host would make something else of the documents."""
    if assignment.version != version("lightwell"):
        raise Invalid(
            f"this host has Lightwell {version('lightwell')}, the command {assignment.version}: install the same version"
        )
    settings_here = _settings_alike(settings)
    if different := [
        name for name in _ALIKE if settings_here[name] != assignment.settings.get(name)
    ]:
        named = ", ".join(different)
        raise Invalid(
            f"this host has other settings than the command: {named}. Set them alike, before Ray is started on it"
        )


async def _compare_project(assignment: Assignment, settings: Settings, database: Database) -> None:
    """Raise `Invalid` in another database, and `NotFound` or `Invalid` where the project is another one."""
    if await projects.identify_database(database) != assignment.database:
        raise Invalid(_OTHER_DATABASE)
    if await projects.find(database, settings.tenant, settings.project) != assignment.project_id:
        raise Invalid("the project was deleted and made again: run `lightwell backfill` again")


def _settings_alike(settings: Settings) -> dict[str, str]:
    return {name: str(attrgetter(".".join(VARIABLES[name]))(settings)) for name in _ALIKE}


def _cpu_seconds() -> float:
    """Return the processor time of this process; its parser processes add theirs when they end."""
    this_process = resource.getrusage(resource.RUSAGE_SELF)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return this_process.ru_utime + this_process.ru_stime + ended.ru_utime + ended.ru_stime
