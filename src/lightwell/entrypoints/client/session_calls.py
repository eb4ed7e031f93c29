"""The call that says for whom a client speaks; browsers alone sign in and out."""

from lightwell.entrypoints.operations.calls import Call, reader_of
from lightwell.entrypoints.operations.sessions import Me


def me() -> Call[Me]:
    """Say for whom this client speaks, what it may do, and where it may put new documents."""
    return Call(method="GET", path="/v1/me", read=reader_of(Me))
