"""The library: `KnowledgeBase`, in `parts`, is one project with all that can be done in it; beside it is what is done with keys, people and sessions.

The class is loaded when it is first named: a command that lists keys needs no model.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lightwell.knowledge_base.parts import KnowledgeBase

__all__ = ["KnowledgeBase"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.parts"), name)
