"""`documents add` and `documents replace`: ingest one file with given metadata, or given chunks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from rich.text import Text

import lightwell.entrypoints.json_output as json_output
from lightwell.domain.documents import Format
from lightwell.domain.errors import Invalid
from lightwell.domain.jobs import JobState
from lightwell.domain.requests import EmbeddedChunk, IngestRequest, IngestResponse
from lightwell.entrypoints.cli.console import clean, count_of
from lightwell.entrypoints.cli.document_tags import file_url, remember_tags, tags_of_owner
from lightwell.entrypoints.cli.documents import Name, document_name, documents, server_name
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.jobs import follow_to_end
from lightwell.entrypoints.cli.logins import Login
from lightwell.entrypoints.cli.options import As, NoWait, Server
from lightwell.entrypoints.cli.registration import Work, command
from lightwell.entrypoints.cli.remote import choose_server, dump, require_server, send
from lightwell.entrypoints.cli.store import (
    open_as,
    open_store_project,
    parse_document_tags,
    settings_that_may_create_a_store,
)

if TYPE_CHECKING:
    from lightwell.entrypoints.schemas.documents import IngestResponseSchema
    from lightwell.ingest.progress import DocumentOutcome
    from lightwell.knowledge_base import KnowledgeBase
    from lightwell.settings import Settings


Title = Annotated[str, typer.Option("--title", help="The title; overrides the document's own.")]
Topic = Annotated[
    str, typer.Option("--topic", metavar="TOPIC", help="The topic tag of the document.")
]


class _GivenChunk(BaseModel):
    model_config = ConfigDict(extra="forbid")

    content: str
    embedding: tuple[float, ...] | None = None
    section_path: tuple[str, ...] = Field(default=(), alias="sectionPath")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """The arguments and options of `documents add`, as typed."""

    path: Path
    acl: Sequence[str]
    title: str
    format: Format | None
    metadata: Sequence[str]
    topic: str

    def request(self) -> IngestRequest:
        """Return the request; raise `Invalid` for metadata that is not `KEY=VALUE`."""
        pairs = [each.partition("=") for each in self.metadata]
        for given, (key, sign, _) in zip(self.metadata, pairs, strict=True):
            if not sign or not key.strip():
                raise Invalid(
                    f"{given!r} is not valid metadata; write KEY=VALUE, for example customer=Nordwind"
                )
        return IngestRequest(
            document_url=str(self.path),
            acl_tags=parse_document_tags(self.acl),
            title=self.title,
            format=self.format,
            metadata={key.strip(): value.strip() for key, _, value in pairs},
            topic=self.topic,
        )


@command(
    documents,
    "add",
    "lightwell documents add notes.dat --format text --acl team:us",
    'lightwell documents add offer.pdf --acl team:sales --title "Offer 7" --metadata customer=Nordwind',
    "lightwell documents add offer.pdf --acl team:sales --server http://127.0.0.1:8000",
)
def add_document(  # noqa: PLR0913 - the options of a command are its arguments
    path: Annotated[Path, typer.Argument(metavar="PATH", exists=True, help="The file.")],
    *,
    acl: Annotated[
        list[str] | None,
        typer.Option("--acl", metavar="TAG", help="Access tags, if the file names none."),
    ] = None,
    title: Title = "",
    file_format: Annotated[
        Format | None, typer.Option("--format", help="The format; overrides the file name.")
    ] = None,
    metadata: Annotated[
        list[str] | None,
        typer.Option("--metadata", metavar="KEY=VALUE", help="Additional metadata."),
    ] = None,
    topic: Topic = "",
    no_wait: NoWait = False,
    server: Server = None,
) -> Work:
    """Ingest one file with a title, a format and metadata that you give, and report its job."""
    options = RequestOptions(
        path=path,
        acl=acl or [],
        title=title,
        format=file_format,
        metadata=metadata or [],
        topic=topic,
    )
    if server:
        return _upload(options, require_server(server), waits=not no_wait)
    return _enqueue(options) if no_wait else _add(options)


@command(
    documents,
    "fetch",
    "lightwell documents fetch https://example.org/handbook.pdf --acl team:us --server http://127.0.0.1:8000",
)
async def fetch_document(  # noqa: PLR0913 - the options of a command are its arguments
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL", help="A URL, or a path on the server that is open for ingestion."
        ),
    ],
    *,
    acl: Annotated[
        list[str] | None,
        typer.Option(
            "--acl",
            metavar="TAG",
            help="Access tags of a URL; who sees a file is said where it is.",
        ),
    ] = None,
    title: Title = "",
    file_format: Annotated[
        Format | None, typer.Option("--format", help="The format; overrides what the URL says.")
    ] = None,
    topic: Topic = "",
    no_wait: NoWait = False,
    server: Server = None,
) -> Report:
    """Have a server fetch a document and ingest it, and report its job."""
    from lightwell.entrypoints.client import document_calls

    login, tags = require_server(server), parse_document_tags(acl)
    call = document_calls.ingest(
        url, tags=sorted(tags), title=title, format=file_format, topic=topic
    )
    return await _server_report(await send(call, login), login, waits=not no_wait)


@command(
    documents, "replace", "lightwell documents replace handbook/leave.md chunks.json --as team:us"
)
def replace_chunks(
    name: Name,
    chunks: Annotated[
        Path,
        typer.Argument(
            metavar="JSON",
            exists=True,
            dir_okay=False,
            help='A file with a list of {"content": …, "embedding": […], "sectionPath": […]}.',
        ),
    ],
    *,
    who: As = None,
    server: Server = None,
    no_wait: NoWait = False,
) -> Work:
    """Replace the passages of a document with your own, of 100 to 2000 tokens each.

    An embedding is optional and has the dimension of the project's embedding model. Your passages are used until
    the document's source is ingested again. --no-wait is for a server.
    """
    supplied = _read_chunks(chunks)
    if login := choose_server(server, who):
        return _replace_at_server(name, supplied, login, waits=not no_wait)
    return _replace(name, supplied, who)


async def _replace(
    name: str, supplied: Sequence[EmbeddedChunk], who: Sequence[str] | None
) -> Report:
    """Replace the passages of a document of the store here, and report the job."""
    async with open_as(who) as (kb, reader):
        answer = await kb.ingestion.enqueue_chunks(reader, document_name(name), supplied)
        done = await kb.ingestion.finish_jobs([answer.document_id])
    return _job_report(answer, done)


async def _replace_at_server(
    name: str, supplied: Sequence[EmbeddedChunk], login: Login, *, waits: bool
) -> Report:
    """Replace the passages of a document of a server, and report the job."""
    from lightwell.entrypoints.client import document_calls
    from lightwell.entrypoints.schemas.passages import GivenPassage

    given = [
        GivenPassage(
            content=each.content,
            embedding=None if each.embedding is None else list(each.embedding),
            section_path=list(each.section_path),
        )
        for each in supplied
    ]
    call = document_calls.replace_passages(server_name(name), given)
    return await _server_report(await send(call, login), login, waits=waits)


async def _upload(options: RequestOptions, login: Login, *, waits: bool) -> Report:
    """Upload the file to a server, and report its job."""
    from lightwell.entrypoints.client import document_calls
    from lightwell.entrypoints.schemas.documents import IngestResponseSchema

    asked = options.request()
    call = document_calls.upload(
        [options.path],
        tags=sorted(asked.acl_tags),
        title=asked.title,
        format=asked.format,
        topic=asked.topic,
        metadata=asked.metadata,
    )
    (given,) = (await send(call, login)).documents
    answer = IngestResponseSchema.model_validate(given.model_dump(exclude={"file_name"}))
    return await _server_report(answer, login, waits=waits)


async def _server_report(answer: "IngestResponseSchema", login: Login, *, waits: bool) -> Report:
    """Report the job of a server, at its end where `waits`."""
    if not waits:
        text = f"The server ingests the document as job {answer.job_id}."
        return Report(document=dump(answer), text=Text(text))
    ended = await follow_to_end(UUID(answer.job_id), login)
    failed = ended.job_state is not JobState.COMPLETE
    chunks = count_of(0 if failed else ended.total_chunks or 0, "passage")
    lines = [f"{chunks} ingested; job {answer.job_id}."]
    lines += [f"failed  {ended.document_url}: {ended.error_message}"] if failed else []
    return Report(
        document=dump(answer),
        text=Text(clean("\n".join(lines))),
        code=Exit.INCOMPLETE if failed else Exit.FINE,
    )


async def _enqueue(options: RequestOptions) -> Report:
    """Enqueue the document and report its job."""
    from lightwell.wiring import requested

    chosen, request = settings_that_may_create_a_store(), options.request()
    async with open_store_project(chosen) as kb:
        request = await _with_tags(kb, request, chosen)
        answer = await kb.ingestion.enqueue_document(requested(request, chosen))
    text = f"The document waits for `lightwell worker` as job {answer.job_id}."
    return Report(document=json_output.ingest_response(answer), text=Text(text))


async def _add(options: RequestOptions) -> Report:
    """Ingest the document and report its job."""
    from lightwell.wiring import requested

    chosen, request = settings_that_may_create_a_store(), options.request()
    async with open_store_project(chosen) as kb:
        request = await _with_tags(kb, request, chosen)
        answer = await kb.ingestion.enqueue_document(requested(request, chosen))
        done = await kb.ingestion.finish_jobs([answer.document_id])
    return _job_report(answer, done)


async def _with_tags(
    kb: "KnowledgeBase", request: IngestRequest, chosen: "Settings"
) -> IngestRequest:
    """Return the request with the access tags that are remembered of its file, or the owner's, where it names none."""
    path, acl = Path(request.document_url), request.acl_tags or None
    owner = await tags_of_owner(kb, chosen) if acl is None else frozenset[str]()
    remembered = await remember_tags(kb, path, acl, owner)
    return replace(request, acl_tags=remembered.find(file_url(path)) or frozenset())


def _read_chunks(path: Path) -> list[EmbeddedChunk]:
    try:
        given = TypeAdapter(list[_GivenChunk]).validate_json(path.read_bytes())
    except (ValidationError, OSError) as error:
        raise Invalid(f"{path} is not a JSON list of passages: {error}") from error
    return [
        EmbeddedChunk(
            content=each.content, embedding=each.embedding, section_path=each.section_path
        )
        for each in given
    ]


def _job_report(answer: IngestResponse, outcomes: "Sequence[DocumentOutcome]") -> Report:
    failed = [each for each in outcomes if each.error]
    chunks = count_of(sum(each.chunks for each in outcomes), "passage")
    lines = [f"{chunks} ingested; job {answer.job_id}."]
    lines += [f"failed  {each.url}: {each.error}" for each in failed]
    return Report(
        document=json_output.ingest_response(answer),
        text=Text(clean("\n".join(lines))),
        code=Exit.INCOMPLETE if failed else Exit.FINE,
    )
