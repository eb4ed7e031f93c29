"""Files that somebody sends: for whom they are is asked first, and only then they are fetched and read."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from pathlib import PurePosixPath
from time import monotonic
from urllib.parse import unquote, urlsplit

from lightwell.connectors.single_document import make_document, upload_origin
from lightwell.domain.access import TagAuthority
from lightwell.domain.channels import File
from lightwell.domain.directory import Place
from lightwell.domain.errors import Invalid, NotFound, TooLarge, Unreadable
from lightwell.domain.ids import JobId
from lightwell.domain.jobs import VECTORS, Job, JobState
from lightwell.domain.requests import IdempotencyKey, IngestRequest
from lightwell.domain.scopes import Scope
from lightwell.entrypoints.channels.actions import AddFile, ShowJob
from lightwell.entrypoints.channels.asker import Asker
from lightwell.entrypoints.channels.messages import Block, Button, Message, Span, Style, plain, text
from lightwell.ingest.submission import Submission
from lightwell.knowledge_base.directory import Directory
from lightwell.text.pieces import shorten
from lightwell.text.printable import clean

_NO_SCOPE = "You may read documents here, but not add any. Ask whoever runs Lightwell."
_NO_PLACE = "You have no place for documents yet. Ask whoever runs Lightwell for a group, or for a place of your own."
_ONLY_ALONE = "Send files in a chat with me alone: for whom they are is nobody else's matter."
_SAYS_WHOSE = "The file says itself who may see it, and not as you have chosen. Take that out of it, or add it on the web page."
_DISCARDED = "Discarded. I have not fetched it."
_FOR_OTHERS = (
    "Added. Those whom you chose can ask about it once it is read; you do not see it yourself."
)
_MAX_PLACES = 11
_LONGEST_NAME = 100
_POLL_SECONDS = 0.5


async def offer(asker: Asker, file: File, max_bytes: int) -> Message:
    """Ask for whom a file is; say at once where the asker may add none, or it is too large."""
    if not asker.allows(Scope.INGEST):
        return plain(_NO_SCOPE)
    if not asker.chat.is_private:
        return plain(_ONLY_ALONE)
    if file.size > max_bytes:
        return Message(blocks=(_about(file.name, _too_large(max_bytes)),))
    places = await _places(asker)
    if not places:
        return plain(_NO_PLACE)
    labels = _labels(places)
    rows = [
        (Button(label=label, action=_adding(file, tag)),)
        for tag, label in (*labels.items(), ("", "Discard"))
    ]
    more = len(places) - len(labels)
    question = "Who may see it? Only those whom you choose get answers from it."
    rest = (text(f"You have {more} more places: use the web page for them."),) if more else ()
    return Message(blocks=(_about(file.name, question), *rest), buttons=tuple(rows))


async def add(
    asker: Asker, action: AddFile, content: AsyncIterator[bytes], max_bytes: int
) -> Message:
    """Add the file as the asker, and say how far it is read; the same file is added once, wherever else it should go then.

    `content` is not touched where nothing is added. Raises `NotFound` where the asker has the place no more.
    """
    if not action.tag:
        return Message(blocks=(_about(action.name, _DISCARDED),))
    if not asker.allows(Scope.INGEST):
        return plain(_NO_SCOPE)
    documents, key = asker.knowledge_base.documents, _key(asker, action)
    queued = await documents.find_earlier(asker.reader, key)
    if queued is None:
        if action.tag not in {place.tag for place in await _places(asker)}:
            raise NotFound("You have this place no more")
        try:
            submission = await _submission(asker, action, content, max_bytes)
            queued = await documents.submit(submission)
        except (Unreadable, Invalid) as error:
            return Message(blocks=(_about(action.name, _problem(str(error))),))
    try:
        return await progress(asker, ShowJob(job=queued[0].job_id))
    except NotFound:  # an administrator may add for others alone
        return Message(blocks=(_about(action.name, _FOR_OTHERS),))


async def progress(asker: Asker, action: ShowJob, *, seconds: float = 0.0) -> Message:
    """Say how far a file is read, after it was, or so many seconds at most; raise `NotFound` where the asker does not see it."""
    end, job = monotonic() + seconds, await _job(asker, action)
    while _is_awaited(job) and monotonic() < end:
        await asyncio.sleep(_POLL_SECONDS)
        job = await _job(asker, action)
    blocks = (_about(_name_of(job), _said_of(job)),)
    again = Button(label="How far is it?", action=action)
    return Message(blocks=blocks, buttons=((again,),) if _is_awaited(job) else ())


async def _job(asker: Asker, action: ShowJob) -> Job:
    kb, reader = asker.knowledge_base, asker.reader
    # The first document with a tag makes an access class, which this reader does not know yet.
    reader = await kb.reader(reader.tags, user=reader.user)
    return await kb.jobs.get(reader, JobId(action.job))


def _is_awaited(job: Job) -> bool:
    """Return whether the document is being read and cannot be asked about yet."""
    return job.state.is_open and job.step != VECTORS


def _said_of(job: Job) -> str:
    match job.state:
        case JobState.COMPLETE:
            return "Ready: you can ask about it."
        case JobState.FAILED:
            return f"Could not be added. {_problem(job.error)}"
        case JobState.CANCELLED:
            return "Cancelled."
        case JobState.QUEUED:
            return "Waiting to be read."
        case _ if job.step == VECTORS:
            return "You can ask about it; it is still being read."
        case _:
            return f"Being read: {job.progress} percent."


async def _submission(
    asker: Asker, action: AddFile, content: AsyncIterator[bytes], max_bytes: int
) -> Submission:
    """Return the file to hand in; raise `Unreadable` and `Invalid` as an upload does."""
    whole = bytearray()
    async for part in content:
        whole += part
        if len(whole) > max_bytes:
            raise TooLarge(_too_large(max_bytes))
    origin = upload_origin(action.name)
    request = IngestRequest(document_url="", acl_tags=frozenset({action.tag}))
    document = await asyncio.to_thread(make_document, request, origin, bytes(whole), max_bytes)
    if document.acl_tags != request.acl_tags:
        raise Invalid(_SAYS_WHOSE)
    return Submission(
        documents=[document],
        reader=asker.reader,
        authority=TagAuthority(tags=asker.reader.tags, is_unlimited=asker.allows(Scope.ADMIN)),
        key=_key(asker, action),
    )


def _key(asker: Asker, action: AddFile) -> IdempotencyKey:
    """Return the key of a file that was sent, for whomever it is: so it is added once."""
    sent = hashlib.sha256(f"{asker.chat.platform}\0{action.handle}".encode())
    return IdempotencyKey(
        owner=f"channel {asker.person.id}", text=sent.hexdigest(), fingerprint=sent.digest()
    )


async def _places(asker: Asker) -> list[Place]:
    """Return where the asker may put documents, as on the page: what sources gave comes last."""
    database = asker.knowledge_base.conversations.database
    directory = Directory(database=database, project_id=asker.reader.project_id)
    return await directory.list_places(asker.principal)


def _labels(places: Sequence[Place]) -> dict[str, str]:
    """Return what the buttons of places say; the tag, too, where two have one name."""
    names = [place.name for place in places]
    return {
        place.tag: "Only me"
        if place.is_own
        else f"{place.name} ({place.tag})"
        if names.count(place.name) > 1
        else place.name
        for place in places[:_MAX_PLACES]
    }


def _adding(file: File, tag: str) -> AddFile:
    return AddFile(handle=file.handle, name=file.name, size=file.size, tag=tag)


def _about(name: str, words: str) -> Block:
    shown = shorten(" ".join(clean(name).split()), _LONGEST_NAME) or "The file"
    return Block((Span(shown, Style.BOLD), Span(f"\n{words}")))


def _name_of(job: Job) -> str:
    return unquote(PurePosixPath(urlsplit(job.url).path).name)


def _too_large(max_bytes: int) -> str:
    return f"It is too large: I take files of up to {max_bytes / 1024**2:,.0f} MB."


def _problem(error: str) -> str:
    return f"{error[:1].upper()}{error[1:]}"
