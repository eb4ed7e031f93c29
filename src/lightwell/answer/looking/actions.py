"""What a model that looks twice may ask for: one action a step, as JSON by a schema.

Endpoints and small models differ in whether they can call tools; a JSON object by a schema is what all of them can write.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum

from pydantic import BaseModel, ValidationError

from lightwell.domain.questions import Filters
from lightwell.text.regex import regex

LONGEST_QUERY = 300
"""Characters; what is longer is cut."""
_LONGEST_REPLY = 8000
_LONGEST_WORD = 100
_MAX_OBJECTS = 20

_BRACE, _NUMBER = regex(r"\{"), regex(r"\W{0,3}(\d{1,6})(?:\.0)?\W{0,3}")
_WORD = regex(r"\w")


class ActionKind(StrEnum):
    SEARCH = "search"
    OPEN = "open"
    FIND = "find"
    NEIGHBOURS = "neighbours"
    ANSWER = "answer"


_STRING = {"type": "string"}
ACTION_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": [kind.value for kind in ActionKind]},
        "query": _STRING,
        "passage": {"type": "integer"},
        "system": _STRING,
        "type": _STRING,
        "since": _STRING,
        "until": _STRING,
    },
    "required": ["action", "query", "passage", "system", "type", "since", "until"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What a model asks for: words to search for, or the number, from 1, of a passage that it was shown; never an id.

    `system`, `type`, `since` and `until` narrow a search; "" and None are any.
    """

    kind: ActionKind
    query: str = ""
    passage: int = 0
    system: str = ""
    type: str = ""
    since: date | None = None
    until: date | None = None

    def narrow(self, filters: Filters) -> Filters:
        """Return a question's filters, narrowed: what the question itself asks for stays, and words of the search add nothing."""
        since = max(filter(None, (filters.since, self.since)), default=None)
        until = min(filter(None, (filters.until, self.until)), default=None)
        if since and until and since > until:
            since, until = filters.since, filters.until
        return replace(
            filters,
            systems=filters.systems or tuple(filter(None, (self.system,))),
            kinds=filters.kinds or tuple(filter(None, (self.type,))),
            since=since,
            until=until,
            from_words=False,
        )


def parse_action(reply: str) -> Action | None:
    """Return the first action in a reply, its texts on one line and cut to their lengths; None where there is none."""
    for written in _objects(reply[:_LONGEST_REPLY]):
        try:
            action = _Written.model_validate(written).action_meant
        except (ValidationError, ValueError):
            continue
        if _is_complete(action):
            return action
    return None


class _Written(BaseModel):
    """An action as a model may write it: some write `"[2]"` for 2, and null for what they leave out."""

    action: str
    query: str | None = None
    passage: int | float | str | None = None
    system: str | None = None
    type: str | None = None
    since: str | None = None
    until: str | None = None

    @property
    def action_meant(self) -> Action:
        """The action; raise `ValueError` for one that there is not."""
        number = _NUMBER.fullmatch(str(self.passage or 0))
        return Action(
            kind=ActionKind(self.action.strip().casefold()),
            query=_line(self.query, LONGEST_QUERY),
            passage=int(number[1]) if number else 0,
            system=_line(self.system, _LONGEST_WORD),
            type=_line(self.type, _LONGEST_WORD),
            since=_day(self.since),
            until=_day(self.until),
        )


def _is_complete(action: Action) -> bool:
    """Return whether the action has the words that it needs; a passage that there is not is not found."""
    needs_words = action.kind not in (ActionKind.OPEN, ActionKind.ANSWER)
    return not needs_words or _WORD.search(action.query) is not None


def _objects(reply: str) -> Iterator[object]:
    """Yield what the reply has of JSON objects, at most twenty."""
    decoder = json.JSONDecoder()
    for brace in list(_BRACE.finditer(reply))[:_MAX_OBJECTS]:
        try:
            yield decoder.raw_decode(reply, brace.start())[0]
        except (ValueError, RecursionError):
            continue


def _line(text: str | None, longest: int) -> str:
    """Return the text on one line without control characters and half characters, cut to its length."""
    signs = (sign if sign.isprintable() else " " for sign in (text or "")[: 4 * longest])
    return " ".join("".join(signs).split())[:longest].strip()


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat((text or "").strip()[:10])
    except ValueError:
        return None
