"""New documents: uploaded files, and URLs and paths to fetch. What is answered with 202 is stored."""

import hashlib
import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request, Response
from pydantic import JsonValue, TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile

from lightwell.connectors.intake import Intake, Origin, is_web_url, upload_origin
from lightwell.domain.api_keys import Scope
from lightwell.domain.documents import Format, NewDocument
from lightwell.domain.errors import Invalid, LightwellError, Unreadable
from lightwell.domain.requests import IdempotencyKey, IngestRequest
from lightwell.entrypoints.http.authentication import Caller, Ingesting, projects_of, recheck_caller
from lightwell.entrypoints.http.intake_slots import IntakeSlots
from lightwell.entrypoints.http.multipart import UploadLimits, read_form
from lightwell.entrypoints.http.problems import CONTENT_TYPE
from lightwell.entrypoints.http.projects import Projects
from lightwell.entrypoints.schemas.documents import (
    IngestBody,
    IngestResponseSchema,
    UploadResponse,
    ingest_response,
    metadata_texts,
    parse_given_tags,
    upload_response,
)
from lightwell.ingest.submission import Submission

router = APIRouter(prefix="/v1/documents", tags=["documents"])

_FIELDS = frozenset(("files", "aclTags", "title", "format", "topic", "metadata"))
_TOO_LARGE: dict[int | str, dict[str, Any]] = {
    413: {
        "description": "The upload, or a file in it, is too large",
        "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}
_FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["files"],
                    "additionalProperties": False,
                    "properties": {
                        "files": {
                            "type": "array",
                            "minItems": 1,
                            "items": {"type": "string", "format": "binary"},
                        },
                        "aclTags": {
                            "type": "array",
                            "items": {"type": "string"},
                            "description": "Who sees the documents: tags that the caller has. Not needed where it has one only.",
                            "examples": [["team:sales"]],
                        },
                        "title": {"type": "string", "description": "For a single file."},
                        "format": {"type": "string", "enum": [each.value for each in Format]},
                        "topic": {"type": "string"},
                        "metadata": {"type": "string", "description": "A JSON object."},
                    },
                },
                "encoding": {"aclTags": {"style": "form", "explode": True}},
            }
        },
    }
}

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=r"^[\x20-\x7e]+$",
        description="The same request with the same key, within a day, has no second effect and gets the same response.",
        examples=["8e03978e-40d5-43dd-bc93-6894a57f9324"],
    ),
]


@dataclass(frozen=True, slots=True)
class _Uploads:
    """Uploaded files as documents; each iteration loads them one by one."""

    intake: Intake
    request: IngestRequest
    files: Sequence[UploadFile]
    origins: Sequence[Origin]

    def __iter__(self) -> Iterator[NewDocument]:
        for file, origin in zip(self.files, self.origins, strict=True):
            file.file.seek(0)
            yield self.intake.read_upload(self.request, origin, file.file.read())

    def check(self) -> bytes:
        """Return the SHA-256 of the files, in order; raise `Unreadable` naming every file that cannot be read."""
        digest = hashlib.sha256()
        problems: list[str] = []
        for file, origin in zip(self.files, self.origins, strict=True):
            file.file.seek(0)
            content = file.file.read()
            digest.update(f"{origin.name}\0{hashlib.sha256(content).hexdigest()}\0".encode())
            try:
                self.intake.read_upload(self.request, origin, content)
            except LightwellError as error:
                problems.append(f"{origin.name}: {error}")
        if problems:
            raise Unreadable("unreadable", "; ".join(problems))
        return digest.digest()


def intake_of(request: Request) -> Intake:
    """Return what reads the documents that clients hand in."""
    return request.app.state.intake


async def hold_slot(request: Request, caller: Ingesting) -> AsyncGenerator[None]:
    """Hold one of the slots for uploads and fetches until the response is sent."""
    slots: IntakeSlots = request.app.state.intake_slots
    async with slots.take(caller.principal.credential):
        yield


def upload_limits_of(request: Request) -> UploadLimits:
    """Return the limits of uploads."""
    return request.app.state.upload_limits


@router.post(
    "",
    status_code=202,
    responses=_TOO_LARGE,
    openapi_extra=_FORM,
    dependencies=[Depends(hold_slot)],
)
async def upload_documents(  # noqa: PLR0913 - what a request brings along
    request: Request,
    caller: Ingesting,
    response: Response,
    intake: Annotated[Intake, Depends(intake_of)],
    limits: Annotated[UploadLimits, Depends(upload_limits_of)],
    projects: Annotated[Projects, Depends(projects_of)],
    key: Key = None,
) -> UploadResponse:
    """Take files as new documents, all of them or none, with a job for each."""
    async with read_form(request, limits) as form:
        caller = await recheck_caller(
            request, Scope.INGEST
        )  # the form may have taken long to arrive
        files = _files_of(form)
        asked = _to_request(form, caller, len(files))
        origins = [upload_origin(file.filename or "") for file in files]
        uploads = _Uploads(intake, asked, files, origins)
        digest = await run_in_threadpool(uploads.check)
        submission = Submission(
            documents=uploads,
            reader=caller.reader,
            authority=caller.authority,
            key=_idempotency_key(caller, key, asked, digest),
        )
        responses = await caller.knowledge_base.documents.submit(submission)
    projects.has_work.set()
    if len(responses) == 1:
        response.headers["Location"] = f"/v1/jobs/{responses[0].job_id}"
    return upload_response([each.name for each in origins], responses)


@router.post("/ingest", status_code=202, responses=_TOO_LARGE, dependencies=[Depends(hold_slot)])
async def ingest_document(
    body: IngestBody,
    caller: Ingesting,
    response: Response,
    intake: Annotated[Intake, Depends(intake_of)],
    projects: Annotated[Projects, Depends(projects_of)],
    key: Key = None,
) -> IngestResponseSchema:
    """Fetch a document from a URL or a path that is open for ingestion, with a job that ingests it.

    Only a URL takes `aclTags`: who sees a file is said where the file is.
    """
    given, is_page = parse_given_tags(body.acl_tags), is_web_url(body.document_url)
    asked = body.to_request(caller.authority.choose(given) if is_page else given)
    if is_page:
        caller.authority.require_new(asked.acl_tags)
    known_as = _idempotency_key(caller, key, asked, b"")
    catalog = caller.knowledge_base.documents
    responses = await catalog.find_earlier(caller.reader, known_as) if known_as else None
    if responses is None:
        reading = (
            intake.read_page(asked)
            if is_page
            else intake.read_file(asked, catalog.folder_tags, caller.authority)
        )
        submission = Submission(
            documents=[await reading],
            reader=caller.reader,
            authority=caller.authority,
            key=known_as,
        )
        responses = await catalog.submit(submission)
        projects.has_work.set()
    response.headers["Location"] = f"/v1/jobs/{responses[0].job_id}"
    return ingest_response(responses[0])


def _files_of(form: FormData) -> list[UploadFile]:
    if unknown := sorted(form.keys() - _FIELDS):
        raise Invalid(f"Unknown field {unknown[0]!r}; the fields are {', '.join(sorted(_FIELDS))}")
    files = [each for each in form.getlist("files") if isinstance(each, UploadFile)]
    if not files or len(files) != len(form.getlist("files")):
        raise Invalid("Send at least one file, each in a field `files` with a file name")
    return files


def _to_request(form: FormData, caller: Caller, files: int) -> IngestRequest:
    """Return what the form says of its files; raise `Invalid`."""
    texts = {
        name: [each for each in form.getlist(name) if isinstance(each, str)]
        for name in _FIELDS - {"files"}
    }
    if any(len(values) > 1 for name, values in texts.items() if name != "aclTags"):
        raise Invalid("Only `files` and `aclTags` may come more than once")
    one = {name: values[0] if values else "" for name, values in texts.items()}
    if one["title"] and files > 1:
        raise Invalid("A title is for a single file")
    words = [word for each in texts["aclTags"] for word in each.split(",")]
    tags = caller.authority.choose(parse_given_tags(words))
    caller.authority.require_new(tags)
    return IngestRequest(
        document_url="",
        acl_tags=tags,
        title=one["title"],
        format=_format(one["format"]),
        metadata=metadata_texts(_json_object(one["metadata"])),
        topic=one["topic"],
    )


def _format(text: str) -> Format | None:
    try:
        return Format(text) if text else None
    except ValueError:
        raise Invalid(f"The format is one of {', '.join(Format)}") from None


def _json_object(text: str) -> dict[str, JsonValue]:
    try:
        return TypeAdapter(dict[str, JsonValue]).validate_json(text or "{}")
    except ValidationError as error:
        raise Invalid("The metadata is not a JSON object") from error


def _idempotency_key(
    caller: Caller, text: str | None, request: IngestRequest, content: bytes
) -> IdempotencyKey | None:
    """Return the key with the fingerprint of the request and of the content that came along; equal in every process."""
    if text is None:
        return None
    asked = [
        request.document_url,
        sorted(request.acl_tags),
        request.title,
        request.format,
        sorted(request.metadata.items()),
        request.topic,
        content.hex(),
    ]
    fingerprint = hashlib.sha256(json.dumps(asked).encode()).digest()
    owner = f"{caller.principal.credential} {caller.principal.acting_for or ''}"
    return IdempotencyKey(owner=owner, text=text, fingerprint=fingerprint)
