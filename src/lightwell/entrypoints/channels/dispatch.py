"""Which function answers a command, and which a press of a button."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from lightwell.domain.errors import NotFound
from lightwell.entrypoints.channels import (
    files,
    groups,
    link_review,
    lookups,
    source_pictures,
    usual,
)
from lightwell.entrypoints.channels.actions import (
    Action,
    AddFile,
    DecideLink,
    ReviewLink,
    Share,
    ShowJob,
    ShowPlace,
    ShowSource,
)
from lightwell.entrypoints.channels.asker import Asker
from lightwell.entrypoints.channels.messages import Message
from lightwell.text.regex import regex

Command = Callable[[Asker, str], Awaitable[Message]]
"""Answers a command with its words, in a whole message that may be longer than a platform takes."""

COMMANDS: Mapping[str, Command] = {
    "brief": lookups.brief,
    "promises": lookups.promises,
    "search": lookups.search,
    "links": link_review.links,
    "status": usual.status,
    "help": usual.help_,
}

_COMMAND = regex(r"/([A-Za-z_]{1,32})(?:@\S+)?(?:\s+(.*))?", re.DOTALL)
_LINK = regex(r"/(?:start|link)(?:@\S+)?\s+(\S{1,200})|link\s+([0-9a-f]{32})", re.IGNORECASE)


class Shown(StrEnum):
    """Where it is shown what a press asks for: in place of the message with the button, below it, or in the group."""

    INSTEAD = "instead"
    BELOW = "below"
    IN_GROUP = "in_group"


@dataclass(frozen=True, slots=True)
class Typed:
    """A command as it was typed, with its words."""

    name: str
    words: str


def read_command(text: str) -> Typed | None:
    """Return the command that the text is, None for a question."""
    match = _COMMAND.fullmatch(text.strip())
    if match is not None:
        return Typed(match[1].lower(), (match[2] or "").strip())
    return Typed("help", "") if text.strip().lower() == "help" else None


def read_code(text: str) -> str:
    """Return the code of a text that links an account, "" for any other."""
    match = _LINK.fullmatch(text.strip())
    return (match[1] or match[2]) if match else ""


def place_of(action: Action) -> Shown:
    """Return where it is shown what the action asks for."""
    match action:
        case ShowSource() | ShowPlace():
            return Shown.BELOW
        case Share():
            return Shown.IN_GROUP
        case _:
            return Shown.INSTEAD


def change_of(action: Action) -> tuple[str, Mapping[str, str]]:
    """Return what the audit log calls that which a press changes for others, and the ids of what it changes; "" for nothing."""
    match action:
        case DecideLink(link=link, confirms=confirms):
            return "confirm" if confirms else "reject", {"link": str(link)}
        case AddFile(tag=tag) if tag:
            return "add", {}
        case Share(conversation=conversation):
            return "share", {"conversation": str(conversation)}
        case _:
            return "", {}


async def perform(asker: Asker, action: Action) -> Message:
    """Do what a button says that needs nothing but its asker; raise `NotFound` where that is not there any more."""
    match action:
        case ShowSource():
            return await source_pictures.show_source(asker, action)
        case ShowPlace():
            return await source_pictures.show_place(asker, action)
        case ReviewLink():
            return await link_review.review(asker, action)
        case DecideLink():
            return await link_review.decide(asker, action)
        case Share():
            return await groups.share(asker, action)
        case ShowJob():
            return await files.progress(asker, action)
        case _:
            raise NotFound("A press does nothing else")
