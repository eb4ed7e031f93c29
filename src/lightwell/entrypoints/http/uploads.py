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
from lightwell.domain.access import parse_tags
from lightwell.domain.api_keys import Scope
from lightwell.domain.documents import Format, NewDocument
from lightwell.domain.errors import Invalid, LightwellError, Unreadable
from lightwell.domain.requests import IdempotencyKey, IngestRequest
from lightwell.domain.texts import metadata_texts, require_text
from lightwell.entrypoints.http.authentication import Caller, Ingesting, projects_of, recheck_caller
from lightwell.entrypoints.http.multipart import read_form
from lightwell.entrypoints.http.problems import CONTENT_TYPE
from lightwell.entrypoints.http.slots import IntakeSlots
from lightwell.entrypoints.operations.documents import MAX_TAGS, IngestJob
from lightwell.entrypoints.operations.uploads import IngestBody, UploadJob, UploadJobs
from lightwell.ingest.submission import Submission

router = APIRouter(prefix="/v1/documents", tags=["documents"])

_MAX_EXTERNAL_ID = 400
_FIELDS = frozenset(("files", "aclTags", "title", "format", "topic", "metadata", "externalId"))
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
                        "format": {"type": "string", "enum": [format_.value for format_ in Format]},
                        "topic": {"type": "string"},
                        "externalId": {
                            "type": "string",
                            "description": "For a single file: what you call the document. What you upload under the same id later is its new version.",
                        },
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


async def hold_slot(request: Request, caller: Ingesting) -> AsyncGenerator[None]:
    """Hold one of the slots for uploads and fetches until the response is sent."""
    slots: IntakeSlots = request.app.state.intake_slots
    async with slots.take(caller.principal.caller):
        yield


@router.post(
    "",
    status_code=202,
    responses=_TOO_LARGE,
    openapi_extra=_FORM,
    dependencies=[Depends(hold_slot)],
)
async def upload_documents(
    request: Request, caller: Ingesting, response: Response, key: Key = None
) -> UploadJobs:
    """Take files as new documents, all of them or none, with a job for each; one whose `externalId` you have used before is a new version."""
    async with read_form(request, request.app.state.upload_limits) as form:
        # The form may have taken long to arrive.
        caller = await recheck_caller(request, Scope.INGEST)
        files = _files_of(form)
        described = _to_request(form, caller, len(files))
        jobs = await submit_files(request, caller, described, files, key)
    if len(jobs) == 1:
        response.headers["Location"] = f"/v1/jobs/{jobs[0].job_id}"
    return UploadJobs(documents=jobs)


async def submit_files(
    request: Request,
    caller: Caller,
    described: IngestRequest,
    files: Sequence[UploadFile],
    key: str | None = None,
) -> list[UploadJob]:
    """Take files as new documents, all of them or none, and return their jobs; raise `Unreadable`, `Invalid`, `KeyReused`."""
    known_as = (caller.reader.user, described.external_id)
    origins = [upload_origin(file.filename or "", known_as) for file in files]
    uploads = _Uploads(request.app.state.intake, described, files, origins)
    digest = await run_in_threadpool(uploads.check)
    submission = Submission(
        documents=uploads,
        reader=caller.reader,
        authority=caller.authority,
        key=_idempotency_key(caller, key, described, digest),
    )
    queued = await caller.knowledge_base.documents.submit(submission)
    projects_of(request).has_work.set()
    return [
        UploadJob.of(IngestJob.model_validate(job), file_name=origin.name)
        for origin, job in zip(origins, queued, strict=True)
    ]


@router.post("/ingest", status_code=202, responses=_TOO_LARGE, dependencies=[Depends(hold_slot)])
async def ingest_document(
    request: Request, body: IngestBody, caller: Ingesting, response: Response, key: Key = None
) -> IngestJob:
    """Fetch a document from a URL or a path that is open for ingestion, with a job that ingests it.

    Only a URL takes `aclTags`: who sees a file is said where the file is.
    """
    intake: Intake = request.app.state.intake
    tags, is_page = parse_tags(body.acl_tags), is_web_url(body.document_url)
    if is_page:
        tags = caller.authority.choose(tags)
        caller.authority.require_new(tags)
    fetched = IngestRequest(
        document_url=body.document_url,
        acl_tags=tags,
        title=body.title,
        format=body.format,
        metadata=metadata_texts(body.metadata),
        topic=body.topic,
    )
    idempotency_key = _idempotency_key(caller, key, fetched, b"")
    documents = caller.knowledge_base.documents
    queued = idempotency_key and await documents.find_earlier(caller.reader, idempotency_key)
    if queued is None:
        reading = (
            intake.read_page(fetched)
            if is_page
            else intake.read_file(fetched, documents.folder_tags, caller.authority)
        )
        submission = Submission(
            documents=[await reading],
            reader=caller.reader,
            authority=caller.authority,
            key=idempotency_key,
        )
        queued = await documents.submit(submission)
        projects_of(request).has_work.set()
    response.headers["Location"] = f"/v1/jobs/{queued[0].job_id}"
    return IngestJob.model_validate(queued[0])


def _files_of(form: FormData) -> list[UploadFile]:
    if unknown := sorted(form.keys() - _FIELDS):
        raise Invalid(f"Unknown field {unknown[0]!r}; the fields are {', '.join(sorted(_FIELDS))}")
    files = [file for file in form.getlist("files") if isinstance(file, UploadFile)]
    if not files or len(files) != len(form.getlist("files")):
        raise Invalid("Send at least one file, each in a field `files` with a file name")
    return files


def _to_request(form: FormData, caller: Caller, files: int) -> IngestRequest:
    """Return what the form says of its files; raise `Invalid`."""
    texts = {
        name: [value for value in form.getlist(name) if isinstance(value, str)]
        for name in _FIELDS - {"files"}
    }
    if any(len(values) > 1 for name, values in texts.items() if name != "aclTags"):
        raise Invalid("Only `files` and `aclTags` may come more than once")
    text = {name: values[0] if values else "" for name, values in texts.items()}
    if text["title"] and files > 1:
        raise Invalid("A title is for a single file")
    tags = parse_tags([word for words in texts["aclTags"] for word in words.split(",")])
    if len(tags) > MAX_TAGS:
        raise Invalid(f"A document has at most {MAX_TAGS} access tags")
    tags = caller.authority.choose(tags)
    caller.authority.require_new(tags)
    return IngestRequest(
        document_url="",
        acl_tags=tags,
        title=text["title"],
        format=_format(text["format"]),
        metadata=metadata_texts(_json_object(text["metadata"])),
        topic=text["topic"],
        external_id=_external_id(text["externalId"], caller, files),
    )


def _external_id(text: str, caller: Caller, files: int) -> str:
    """Return what the caller calls the document, "" for nothing; raise `Invalid`."""
    if text and files > 1:
        raise Invalid("An externalId is for a single file")
    if len(text) > _MAX_EXTERNAL_ID:
        raise Invalid(f"An externalId has at most {_MAX_EXTERNAL_ID} characters")
    if text and not caller.reader.user:
        raise Invalid("An externalId needs a key, or a token that names a person: each has own ids")
    return require_text(text, "The externalId")


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
    asking = [
        request.document_url,
        sorted(request.acl_tags),
        request.title,
        request.format,
        sorted(request.metadata.items()),
        request.topic,
        content.hex(),
        *([request.external_id] if request.external_id else []),
    ]
    fingerprint = hashlib.sha256(json.dumps(asking).encode()).digest()
    owner = f"{caller.principal.credential} {caller.principal.acting_for or ''}"
    return IdempotencyKey(owner=owner, text=text, fingerprint=fingerprint)
