"""What `documents add` and `documents replace` do."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from rich.text import Text

import lightwell.entrypoints.cli.people as people
import lightwell.entrypoints.cli.shapes as shapes
from lightwell.domain.documents import Format
from lightwell.domain.errors import Invalid
from lightwell.domain.requests import EmbeddedChunk, IngestRequest, IngestResponse
from lightwell.entrypoints.cli.edge import Exit, Report, settings
from lightwell.entrypoints.cli.reading import document_name
from lightwell.entrypoints.cli.show import clean, count_of
from lightwell.ingest.context import Outcome
from lightwell.wiring import open_knowledge_base, requested


class _GivenChunk(BaseModel):
    model_config = ConfigDict(extra="forbid")

    content: str
    embedding: tuple[float, ...] | None = None
    section_path: tuple[str, ...] = Field(default=(), alias="sectionPath")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """A request as it was typed."""

    path: Path
    acl: Sequence[str]
    title: str
    format: Format | None
    metadata: Sequence[str]
    topic: str

    def request(self) -> IngestRequest:
        """Return the request; raise `Invalid` for metadata that are no `KEY=VALUE`."""
        pairs = [each.partition("=") for each in self.metadata]
        for given, (key, sign, _) in zip(self.metadata, pairs, strict=True):
            if not sign or not key.strip():
                raise Invalid(
                    f"{given!r} is not valid metadata; write KEY=VALUE, for example customer=Nordwind"
                )
        return IngestRequest(
            document_url=str(self.path),
            acl_tags=people.acl(self.acl),
            title=self.title,
            format=self.format,
            metadata={key.strip(): value.strip() for key, _, value in pairs},
            topic=self.topic,
        )


async def enqueue(options: RequestOptions) -> Report:
    """Enqueue the document and report its job."""
    chosen, request = settings(), options.request()
    async with open_knowledge_base(chosen) as kb:
        answer = await kb.enqueue_document(requested(request, chosen))
    text = f"The document waits for `lightwell worker` as job {answer.job_id}."
    return Report(document=shapes.ingest_response(answer), text=Text(text))


async def add(options: RequestOptions) -> Report:
    """Bring the document in and report its job."""
    chosen, request = settings(), options.request()
    async with open_knowledge_base(chosen) as kb:
        answer = await kb.enqueue_document(requested(request, chosen))
        done = await kb.finish_jobs([answer.document_id])
    return _wait_for_job(answer, done)


async def replace_chunks(name: str, path: Path, who: Sequence[str]) -> Report:
    """Replace a document's chunks by those in a file and report the job."""
    tags, chunks = people.tags(who), _chunks(path)
    async with open_knowledge_base(settings()) as kb:
        reader = await people.reader(kb, tags)
        answer = await kb.enqueue_chunks(reader, document_name(name), chunks)
        done = await kb.finish_jobs([answer.document_id])
    return _wait_for_job(answer, done)


def _chunks(path: Path) -> list[EmbeddedChunk]:
    try:
        given = TypeAdapter(list[_GivenChunk]).validate_json(path.read_bytes())
    except (ValidationError, OSError) as error:
        raise Invalid(f"{path} holds no list of chunks: {error}") from error
    return [
        EmbeddedChunk(
            content=each.content, embedding=each.embedding, section_path=each.section_path
        )
        for each in given
    ]


def _wait_for_job(answer: IngestResponse, outcomes: Sequence[Outcome]) -> Report:
    failed = [each for each in outcomes if each.error]
    chunks = count_of(sum(each.chunks for each in outcomes), "passage")
    lines = [f"{chunks} brought in; job {answer.job_id}."]
    lines += [f"failed  {each.url}: {each.error}" for each in failed]
    return Report(
        document=shapes.ingest_response(answer),
        text=Text(clean("\n".join(lines))),
        code=Exit.INCOMPLETE if failed else Exit.FINE,
    )
