"""`documents add` and `documents replace`: ingest one file with given metadata, or given chunks."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from rich.text import Text

import lightwell.entrypoints.json_output as json_output
from lightwell.domain.documents import Format
from lightwell.domain.errors import Invalid
from lightwell.domain.requests import EmbeddedChunk, IngestRequest, IngestResponse
from lightwell.entrypoints.cli.console import clean, count_of
from lightwell.entrypoints.cli.documents import Name, document_name, documents
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.groups import Work, command
from lightwell.entrypoints.cli.options import As, NoWait
from lightwell.entrypoints.cli.store import (
    open_as,
    open_project,
    parse_document_tags,
    settings_for_new_documents,
)

if TYPE_CHECKING:
    from lightwell.ingest.context import Outcome


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
)
def add_document(  # noqa: PLR0913 - the options of a command are its arguments
    path: Annotated[Path, typer.Argument(metavar="PATH", exists=True, help="The file.")],
    *,
    acl: Annotated[
        list[str] | None,
        typer.Option("--acl", metavar="TAG", help="Access tags, if the file names none."),
    ] = None,
    title: Annotated[
        str, typer.Option("--title", help="The title; overrides the document's own.")
    ] = "",
    file_format: Annotated[
        Format | None, typer.Option("--format", help="The format; overrides the file name.")
    ] = None,
    metadata: Annotated[
        list[str] | None,
        typer.Option("--metadata", metavar="KEY=VALUE", help="Additional metadata."),
    ] = None,
    topic: Annotated[
        str, typer.Option("--topic", metavar="TOPIC", help="The topic tag of the document.")
    ] = "",
    no_wait: NoWait = False,
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
    return _enqueue(options) if no_wait else _add(options)


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
    who: As = None,
) -> Report:
    """Replace the passages of a document with your own, of 100 to 2000 tokens each.

    An embedding is optional and has the dimension of the project's embedding model. Your passages are used until
    the document's source is ingested again.
    """
    supplied = _read_chunks(chunks)
    async with open_as(who) as (kb, reader):
        answer = await kb.enqueue_chunks(reader, document_name(name), supplied)
        done = await kb.finish_jobs([answer.document_id])
    return _job_report(answer, done)


async def _enqueue(options: RequestOptions) -> Report:
    """Enqueue the document and report its job."""
    from lightwell.wiring import requested

    chosen, request = settings_for_new_documents(), options.request()
    async with open_project(chosen) as kb:
        answer = await kb.enqueue_document(requested(request, chosen))
    text = f"The document waits for `lightwell worker` as job {answer.job_id}."
    return Report(document=json_output.ingest_response(answer), text=Text(text))


async def _add(options: RequestOptions) -> Report:
    """Ingest the document and report its job."""
    from lightwell.wiring import requested

    chosen, request = settings_for_new_documents(), options.request()
    async with open_project(chosen) as kb:
        answer = await kb.enqueue_document(requested(request, chosen))
        done = await kb.finish_jobs([answer.document_id])
    return _job_report(answer, done)


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


def _job_report(answer: IngestResponse, outcomes: "Sequence[Outcome]") -> Report:
    failed = [each for each in outcomes if each.error]
    chunks = count_of(sum(each.chunks for each in outcomes), "passage")
    lines = [f"{chunks} ingested; job {answer.job_id}."]
    lines += [f"failed  {each.url}: {each.error}" for each in failed]
    return Report(
        document=json_output.ingest_response(answer),
        text=Text(clean("\n".join(lines))),
        code=Exit.INCOMPLETE if failed else Exit.FINE,
    )
