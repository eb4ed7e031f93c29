"""How lines are pushed into a source, and what became of them. `http/pushes.py` has the routes, `http/push_lines.py` the lines."""

from typing import Annotated

from lightwell.entrypoints.operations.replies import Reply, Schema, read_from


class PushFailure(Reply):
    """A line that was not stored; all others were. `id` is empty where none could be read."""

    line: Annotated[int, read_from("line", "number")]
    id: str
    message: str


class PushReport(Reply):
    """What a push did: counts of lines, of documents, and of groups. `outdated` lines had a lower version than is stored.

    `failed` counts the lines that failed, of which `failures` has the first 1,000. `warning` says what the end of a sync of everything did not
    remove, empty if nothing.
    """

    lines: int
    inserted: int
    updated: int
    deleted: int
    unchanged: int
    outdated: int
    groups: int
    failed: int
    failures: list[PushFailure]
    warning: str


class PushQuery(Schema):
    """How lines are pushed. `sync` names the sync of everything that they are a part of, empty for none."""

    sync: str = ""
    allow_mass_deletion: bool = False
