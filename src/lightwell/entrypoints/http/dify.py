"""Dify's API of an external knowledge base: `POST /retrieval`, which Dify appends to the address that somebody enters there.

The key opens one project, so a knowledge base of Dify is that project, or a part of it: `knowledge_id` is the project's name, or filters such as
`system=linear` or `source=handbook,type=page`, as `--only` has them. Saving an address in Dify sends a request without a body, and takes 403 alone for
a wrong key.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Final, Literal, cast

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.evidence import Evidence
from lightwell.domain.questions import DEFAULT_LIMIT, Filters
from lightwell.domain.texts import split_at_commas
from lightwell.entrypoints.http.authentication import Caller, Reading
from lightwell.entrypoints.http.dialects import speaking
from lightwell.entrypoints.http.problems import Dialect, Problem
from lightwell.entrypoints.operations.questions import DocumentFilters
from lightwell.entrypoints.operations.replies import Rounded

MOST_RECORDS: Final = 20
_SEVERAL: Final = frozenset(("source", "system", "type", "author", "tag"))
_SINGLE: Final = frozenset(("topic", "since", "until"))
_DATE: Final = "date"
_SPANS: Final = {
    "after": ("since", 1),
    ">": ("since", 1),
    "≥": ("since", 0),
    "≤": ("until", 0),
    "<": ("until", -1),
    "before": ("until", -1),
}
"""Of a comparison with a day: which end of the span of days it is, and how many days later."""


def _problem_fields(request: Request, problem: Problem) -> Mapping[str, object]:
    has_key = request.headers.get("authorization", "").lower().startswith("bearer ")
    codes = {HTTPStatus.FORBIDDEN: 1002 if has_key else 1001, HTTPStatus.NOT_FOUND: 2001}
    code = codes.get(HTTPStatus(problem.status), problem.status)
    return {"error_code": code, "error_msg": problem.detail}


DIFY: Final = Dialect(
    fields=_problem_fields, statuses={HTTPStatus.UNAUTHORIZED: HTTPStatus.FORBIDDEN}
)

router = APIRouter(tags=["Dify"], route_class=speaking(DIFY))


class RetrievalSetting(BaseModel):
    """How many records, from which score on; Dify sends null where somebody has left it open."""

    top_k: Annotated[int, Field(ge=1)] | None = None
    score_threshold: float | None = None


class Condition(BaseModel):
    name: str
    comparison_operator: str
    value: Sequence[str | int | float] | str | int | float | None = None


class MetadataCondition(BaseModel):
    logical_operator: Literal["and", "or"] | None = "and"
    conditions: list[Condition] | None = None


class Retrieval(BaseModel):
    """Dify's request."""

    knowledge_id: str
    query: str
    retrieval_setting: RetrievalSetting = RetrievalSetting()
    metadata_condition: MetadataCondition | None = None


class Record(BaseModel):
    """A passage; Dify writes `score`, `title` and what it calls the knowledge base into the metadata."""

    content: str
    score: Rounded
    title: str
    metadata: dict[str, str | int]


class Records(BaseModel):
    records: list[Record]


@router.post("/retrieval")
async def retrieve(body: Retrieval, caller: Reading) -> Records:
    """List the passages that are relevant to a query, best first, from a score on."""
    setting = body.retrieval_setting
    retrieval = await caller.knowledge_base.questions.search(
        body.query,
        caller.reader,
        filters=_filters(body, caller.principal.project),
        limit=min(setting.top_k or DEFAULT_LIMIT, MOST_RECORDS),
    )
    passages = (
        passage
        for passage in retrieval.evidence
        if passage.relevance >= (setting.score_threshold or 0)
    )
    return Records(records=[_record(passage, caller) for passage in passages])


def _record(passage: Evidence, caller: Caller) -> Record:
    chunk = passage.chunk
    place = chunk.locator
    values = {
        "document_id": str(chunk.document_id),
        "url": caller.server + chunk.address,
        "source_url": chunk.source_address or chunk.url,
        "section": chunk.heading_path,
        "page": place.page,
        "start": place.start,
        "end": place.end,
        "system": chunk.system,
        "type": chunk.kind,
        "date": chunk.dated_at.isoformat() if chunk.dated_at else None,
    }
    metadata = {name: value for name, value in values.items() if value is not None}
    return Record(content=chunk.text, score=passage.relevance, title=chunk.title, metadata=metadata)


def _filters(body: Retrieval, project: str) -> Filters:
    """Return what the knowledge base and the conditions mean together; raise `NotFound` for no knowledge base, `Invalid` for what is no filter here."""
    fields = {} if body.knowledge_id == project else _read_id(body.knowledge_id)
    for name, value in _read_conditions(body.metadata_condition).items():
        if name in fields:
            raise Invalid(
                f"The knowledge base is already limited by {name}: leave the condition out"
            )
        fields[name] = value
    topic = str(fields.pop("topic", ""))
    try:
        return DocumentFilters.model_validate(fields).with_topic(topic)
    except ValueError:
        raise Invalid("A day is written YYYY-MM-DD, and a filter has few short values") from None


def _read_id(knowledge_id: str) -> dict[str, object]:
    fields: dict[str, object] = {}
    for name, _, value in (part.partition("=") for part in split_at_commas(knowledge_id)):
        if name in _SEVERAL and value:
            fields[name] = [*cast("list[str]", fields.get(name, [])), value]
        elif name in _SINGLE - fields.keys() and value:
            fields[name] = value
        else:
            raise _no_knowledge_base()
    if not fields:
        raise _no_knowledge_base()
    return fields


def _no_knowledge_base() -> NotFound:
    return NotFound(
        "There is no such knowledge base: write the name of the key's project, or filters such as system=linear"
    )


def _read_conditions(wanted: MetadataCondition | None) -> dict[str, object]:
    """Return the conditions as fields of our filters; raise `Invalid` for what they cannot say."""
    fields: dict[str, object] = {}
    metadata: dict[str, object] = {}
    for condition in _joined(wanted):
        name, value = _read_condition(condition)
        place = fields if name in _SEVERAL | _SINGLE else metadata
        if name in place:
            raise Invalid(f"{name} has two conditions, which cannot be joined here")
        place[name] = value
    return fields | ({"metadata": metadata} if metadata else {})


def _joined(wanted: MetadataCondition | None) -> Sequence[Condition]:
    """Return conditions that must all hold: alternatives of one field are one."""
    conditions = (wanted.conditions if wanted else None) or ()
    if wanted is None or wanted.logical_operator != "or" or len(conditions) < 2:
        return conditions
    readings = [_read_condition(condition) for condition in conditions]
    names = {name for name, _ in readings}
    if len(names) > 1 or not names <= _SEVERAL:
        fields = ", ".join(sorted(_SEVERAL))
        raise Invalid(f"Conditions joined by `or` are of one field here, one of {fields}")
    values = [value for condition in conditions for value in _values(condition)]
    return [Condition(name=names.pop(), comparison_operator="in", value=values)]


def _read_condition(condition: Condition) -> tuple[str, object]:
    """Return the field of our filters, or the key of metadata, with its value; raise `Invalid` for another comparison."""
    name, comparison, values = condition.name, condition.comparison_operator, _values(condition)
    if name == _DATE and comparison in _SPANS and len(values) == 1:
        end, days = _SPANS[comparison]
        return end, _read_day(values[0], days)
    is_one = comparison in ("is", "=") and len(values) == 1
    is_any = comparison == "in" and name in _SEVERAL
    is_part = comparison == "contains" and name == "author"
    if name == _DATE or not values or not (is_one or is_any or is_part):
        raise Invalid(
            f"The condition {name} {comparison} is not understood here. These are: `is` of source, system, type, author, tag, topic and"
            " keys of metadata; `in` of the first five; `contains` of author; `after` and `before` of date"
        )
    return name, values if name in _SEVERAL else values[0]


def _values(condition: Condition) -> list[str]:
    value = condition.value
    if value is None:
        return []
    return [str(value)] if isinstance(value, str | int | float) else list(map(str, value))


def _read_day(text: str, later: int) -> date:
    """Return the day so many days later than a date, or than seconds since 1970 in UTC, as Dify keeps times; raise `Invalid`."""
    try:
        if text.replace(".", "", 1).isdigit():
            return datetime.fromtimestamp(float(text), UTC).date() + timedelta(later)
        moment = datetime.fromisoformat(text)
        day = (moment if moment.tzinfo is None else moment.astimezone(UTC)).date()
        return day + timedelta(later)
    except (ValueError, OverflowError, OSError):
        raise Invalid(f"{text!r} is not a date; write it like 2026-11-27") from None
