"""Scopes: what a key, a token or a person's session allows."""

from collections.abc import Iterable
from enum import StrEnum

from lightwell.domain.errors import Invalid


class Scope(StrEnum):
    """What a key allows; `admin` includes all others. A key with `push` is bound to one source, and has no other scope."""

    READ = "read"
    INGEST = "ingest"
    DELETE = "delete"
    CURATE = "curate"
    EXPORT = "export"
    IMPERSONATE = "impersonate"
    PUSH = "push"
    ADMIN = "admin"


OF_PROGRAMS = frozenset({Scope.IMPERSONATE, Scope.PUSH})
"""The scopes that no person has."""


def parse_scopes(words: Iterable[str], whose: str = "A key") -> frozenset[Scope]:
    """Return the scopes of these names; raise `Invalid` for none, and for a name that is no scope. `whose` begins the message."""
    names = ", ".join(Scope)
    try:
        scopes = frozenset(Scope(word.strip()) for word in words if word.strip())
    except ValueError as error:
        raise Invalid(f"{error}; the scopes are {names}") from None
    if not scopes:
        raise Invalid(f"{whose} needs at least one scope: {names}")
    return scopes


def parse_person_scopes(words: Iterable[str]) -> frozenset[Scope]:
    """Return the scopes that a person has in a browser; raise `Invalid` as `parse_scopes` does, and for those that are for programs."""
    scopes = parse_scopes(words, "A person")
    if of_programs := sorted(scopes & OF_PROGRAMS):
        raise Invalid(
            f"The scope {of_programs[0]} is for keys of programs; a person has admin instead"
        )
    return scopes
