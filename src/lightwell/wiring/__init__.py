"""The one place that chooses implementations, and that opens and closes what has a lifetime.

`open_resources` opens what a process needs once, `open_project` costs almost nothing on top, and `open_knowledge_base`
is both in one call.

Names are loaded when they are first used: a command that only needs the database loads no model.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lightwell.wiring.opening import files, make_intake, open_knowledge_base, requested
    from lightwell.wiring.projects import (
        delete_project,
        delete_project_of,
        list_changing_projects,
        list_due_projects,
        list_waiting_projects,
        make_retriever,
        open_project,
        rule_ingest_context,
    )
    from lightwell.wiring.resources import Resources, open_resources

__all__ = [
    "Resources",
    "delete_project",
    "delete_project_of",
    "files",
    "list_changing_projects",
    "list_due_projects",
    "list_waiting_projects",
    "make_intake",
    "make_retriever",
    "open_knowledge_base",
    "open_project",
    "open_resources",
    "requested",
    "rule_ingest_context",
]

_NAMES = {
    "opening": "files make_intake open_knowledge_base requested",
    "projects": "delete_project delete_project_of list_changing_projects list_due_projects list_waiting_projects make_retriever"
    " open_project rule_ingest_context",
    "resources": "Resources open_resources",
}
"""The names of each module."""


def __getattr__(name: str) -> object:
    for module, names in _NAMES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
