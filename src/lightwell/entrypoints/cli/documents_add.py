"""`documents add` and `documents replace`: ingest one file with given metadata, or given chunks."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import TypeAdapter, ValidationError
from rich.text import Text

import lightwell.entrypoints.operations.documents as operations
from lightwell.domain.documents import Format
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import DocumentId
from lightwell.domain.jobs import JobState
from lightwell.domain.requests import IngestRequest
from lightwell.entrypoints.cli.asking import Asker
from lightwell.entrypoints.cli.console import clean, count_of
from lightwell.entrypoints.cli.document_tags import file_url, remember_tags, tags_of_owner
from lightwell.entrypoints.cli.documents import Name, documents, name_for
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.jobs import follow_to_end
from lightwell.entrypoints.cli.logins import Login
from lightwell.entrypoints.cli.options import NoWait, Server
from lightwell.entrypoints.cli.registration import Work, command
from lightwell.entrypoints.cli.remote import require_server, send
from lightwell.entrypoints.cli.store import (
    open_store_project,
    parse_document_tags,
    settings_that_may_create_a_store,
)
from lightwell.entrypoints.operations.documents import IngestJob, SuppliedChunk

if TYPE_CHECKING:
    from lightwell.knowledge_base import KnowledgeBase


Title = Annotated[str, typer.Option("--title", help="The title; overrides the document's own.")]
Topic = Annotated[
    str, typer.Option("--topic", metavar="TOPIC", help="The topic tag of the document.")
]


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
    request = IngestRequest(
        document_url=str(path),
        acl_tags=parse_document_tags(acl),
        title=title,
        format=file_format,
        metadata=_parse_metadata(metadata or []),
        topic=topic,
    )
    if server:
        return _upload(request, require_server(server), waits=not no_wait)
    return _add(request, waits=not no_wait)


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
async def replace_chunks(
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
    asker: Asker,
    no_wait: NoWait = False,
) -> Report:
    """Replace the passages of a document with your own, of 100 to 2000 tokens each.

    An embedding is optional and has the dimension of the project's embedding model. Your passages are used until
    the document's source is ingested again. --no-wait is for a server.
    """
    try:
        supplied = TypeAdapter(list[SuppliedChunk]).validate_json(chunks.read_bytes())
    except (ValidationError, OSError) as error:
        raise Invalid(f"{chunks} is not a JSON list of passages: {error}") from error
    job = await asker(operations.replace_passages, name_for(asker, name), supplied)
    if asker.login:
        return await _server_report(job, asker.login, waits=not no_wait)
    return await _finish(job, (await asker.open_store()).knowledge_base)


async def _upload(request: IngestRequest, login: Login, *, waits: bool) -> Report:
    """Upload the file to a server, and report its job."""
    from lightwell.entrypoints.client import document_calls

    call = document_calls.upload(
        [request.document_url],
        tags=sorted(request.acl_tags),
        title=request.title,
        format=request.format,
        topic=request.topic,
        metadata=request.metadata,
    )
    (uploaded,) = (await send(call, login)).documents
    job = IngestJob.model_validate(uploaded.model_dump(exclude={"file_name"}))
    return await _server_report(job, login, waits=waits)


async def _server_report(job: IngestJob, login: Login, *, waits: bool) -> Report:
    """Report the job of a server, at its end where `waits`."""
    if not waits:
        text = f"The server ingests the document as job {job.job_id}."
        return Report(document=job, text=Text(text))
    ended = await follow_to_end(job.job_id, login)
    if ended.job_state is JobState.COMPLETE:
        return _report(job, ended.total_chunks or 0, [])
    return _report(job, 0, [f"failed  {ended.document_url}: {ended.error_message}"])


async def _add(request: IngestRequest, *, waits: bool) -> Report:
    """Ingest the document, or only enqueue it, with the tags that are remembered of its file, or the owner's, where it names none."""
    from lightwell.wiring import requested

    chosen, path = settings_that_may_create_a_store(), Path(request.document_url)
    async with open_store_project(chosen) as kb:
        acl = request.acl_tags or None
        owner = await tags_of_owner(kb, chosen) if acl is None else frozenset[str]()
        remembered = await remember_tags(kb, path, acl, owner)
        request = replace(request, acl_tags=remembered.find(file_url(path)) or frozenset())
        enqueued = await kb.ingestion.enqueue_document(requested(request, chosen))
        job = IngestJob.model_validate(enqueued)
        if waits:
            return await _finish(job, kb)
    text = f"The document waits for `lightwell worker` as job {job.job_id}."
    return Report(document=job, text=Text(text))


async def _finish(job: IngestJob, kb: "KnowledgeBase") -> Report:
    """Do the work of a job of the store here, and report it."""
    outcomes = await kb.ingestion.finish_jobs([DocumentId(job.document_id)])
    failed = [f"failed  {outcome.url}: {outcome.error}" for outcome in outcomes if outcome.error]
    return _report(job, sum(outcome.chunks for outcome in outcomes), failed)


def _report(job: IngestJob, chunks: int, failed: Sequence[str]) -> Report:
    lines = [f"{count_of(chunks, 'passage')} ingested; job {job.job_id}.", *failed]
    return Report(
        document=job,
        text=Text(clean("\n".join(lines))),
        code=Exit.INCOMPLETE if failed else Exit.FINE,
    )


def _parse_metadata(words: Sequence[str]) -> dict[str, str]:
    """Return the metadata that `KEY=VALUE` say; raise `Invalid`."""
    metadata: dict[str, str] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or not key.strip():
            raise Invalid(
                f"{word!r} is not valid metadata; write KEY=VALUE, for example customer=Nordwind"
            )
        metadata[key.strip()] = value.strip()
    return metadata
