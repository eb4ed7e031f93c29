"""Opens the connector of a source: the one place that knows which system has which connector."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import entry_points
from typing import Protocol

from lightwell.domain.business_systems import Source
from lightwell.domain.errors import Invalid
from lightwell.source_ports import ItemSource
from lightwell.source_secrets import SourceSecrets, read_source_secrets

PLUG_INS = "lightwell.sources"
"""The group of entry points by which installed packages offer connectors; the name of an entry is that of a system."""

BUILT_IN: tuple[str, ...] = ("attio", "chatwoot", "github", "linear")
"""The systems that `open_connector` opens itself."""


class OpenPlugIn(Protocol):
    """What a plug-in's entry point names: it opens the connector of a source, and closes it at the end."""

    def __call__(
        self, source: Source, secrets: SourceSecrets
    ) -> AbstractAsyncContextManager[ItemSource]: ...


@asynccontextmanager
async def open_connector(source: Source) -> AsyncGenerator[ItemSource, None]:
    """Open the connector of a source with its secrets; raise `Invalid` where an option or a secret is missing.

    A connector is imported here, because no question needs one, and their models take a while to build.
    """
    secrets = read_source_secrets(source.name)
    webhook_secret = secrets.webhook_secret.get_secret_value() if secrets.webhook_secret else ""
    match source.system:
        case "linear":
            from lightwell.connectors.linear.opening import open_linear

            token = secrets.require_token()
            async with open_linear(source.options, token, webhook_secret) as connector:
                yield connector
        case "attio":
            from lightwell.connectors.attio import open_attio

            token = secrets.require_token()
            async with open_attio(source.options, token, webhook_secret) as connector:
                yield connector
        case "chatwoot":
            from lightwell.connectors.chatwoot import open_chatwoot

            token = secrets.require_token()
            async with open_chatwoot(source.options, token, webhook_secret) as connector:
                yield connector
        case "github":
            from lightwell.connectors.github import open_github

            token = secrets.require_token()
            async with open_github(source.options, token, webhook_secret) as connector:
                yield connector
        case system:
            async with _find_plug_in(system)(source, secrets) as connector:
                yield connector


def list_systems() -> list[str]:
    """Return the names of the systems that have a connector."""
    return sorted({*BUILT_IN, *(each.name for each in entry_points(group=PLUG_INS))})


def _find_plug_in(system: str) -> OpenPlugIn:
    for each in entry_points(group=PLUG_INS, name=system):
        return each.load()
    known = ", ".join(list_systems()) or "none is installed"
    raise Invalid(f"There is no connector for {system!r}; there are: {known}")
