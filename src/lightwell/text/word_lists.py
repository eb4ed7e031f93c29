"""Word lists in several languages: one TOML file for each language, in the folder `words` beside the code that uses them.

A list holds alternatives of a regular expression, in which a blank stands for white space.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import cast

WordLists = Mapping[str, Sequence[str]]
"""Alternatives by the name of their list, of all languages together."""


def load_word_lists(package: str) -> Mapping[str, WordLists]:
    """Return the lists of a package by table and name; what several languages have under one name is joined."""
    tables: dict[str, dict[str, list[str]]] = {}
    files = (resources.files(package) / "words").iterdir()
    for file in sorted(files, key=lambda file: file.name):
        page = cast("Mapping[str, WordLists]", tomllib.loads(file.read_text("utf-8")))
        for table, lists in page.items():
            for name, alternatives in lists.items():
                tables.setdefault(table, {}).setdefault(name, []).extend(alternatives)
    return tables


def any_of(alternatives: Iterable[str]) -> str:
    """Return a pattern for one of the alternatives."""
    joined = "|".join(alternatives).replace(" ", r"\s++")
    return f"(?:{joined})"


def whole_words(alternatives: Iterable[str]) -> str:
    """Return a pattern for one of the alternatives as whole words."""
    return rf"\b{any_of(alternatives)}\b"
