"""What a press of a button does. An action is stored; the button has a signed number of it alone (`buttons.py`).

An action names what to show, and never what it says: what is shown is read anew at each press, as the person who presses.
"""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowAnswer:
    """A page of an answer: the exchange at `place` of a conversation."""

    conversation: UUID
    place: int
    page: int = 0
    kind: Literal["answer"] = "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowSource:
    """The source with this number of an answer: the page as a picture with the quotation marked, else its words."""

    conversation: UUID
    place: int
    source: str
    kind: Literal["source"] = "source"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowPlace:
    """A stretch of a document, as `ShowSource` shows it: from `start` to `end` of its text, for as long as the chunk there stands."""

    document: UUID
    chunk: UUID
    start: int
    end: int
    kind: Literal["place"] = "place"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowList:
    """A page of what a command lists: `command` is "search", "brief" or "promises", with its words."""

    command: str
    words: str
    page: int = 0
    kind: Literal["list"] = "list"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """Who or what is meant by a name in a question or a command: ask it again with the entity of this reference."""

    command: str
    words: str
    name: str
    entity: str
    kind: Literal["pick"] = "pick"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewLink:
    """The first proposed link behind the cursor `after`, "" for the beginning; of the entity of this reference, "" for any."""

    about: str
    after: str = ""
    kind: Literal["review"] = "review"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideLink:
    """Confirm or reject a proposed link, and show the next one, as `ReviewLink` does."""

    link: UUID
    confirms: bool
    about: str = ""
    after: str = ""
    kind: Literal["link"] = "link"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Post an answer to the group in which its question was asked."""

    conversation: UUID
    place: int
    chat: str
    thread: str = ""
    kind: Literal["share"] = "share"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddFile:
    """Add a file that was sent, for whoever has this access tag; "" discards it."""

    handle: str
    name: str
    size: int
    tag: str
    kind: Literal["file"] = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowJob:
    """How far a file is read that was added."""

    job: UUID
    kind: Literal["job"] = "job"


Action = (
    ShowAnswer
    | ShowSource
    | ShowPlace
    | ShowList
    | Pick
    | ReviewLink
    | DecideLink
    | Share
    | AddFile
    | ShowJob
)
