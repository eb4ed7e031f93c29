"""Opens the connector of a source: the one place that knows which system has which connector."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Protocol

from lightwell.connectors.opening import parse_base_url
from lightwell.domain.business_systems import NOTHING_TO_READ, Source
from lightwell.domain.errors import Invalid, NotFound
from lightwell.ingest.context import OpenConnector
from lightwell.ports import ItemSource
from lightwell.records import projects
from lightwell.records.database import Database
from lightwell.settings import Settings
from lightwell.source_secrets import SourceSecrets, read_source_secrets, variable_name

PLUG_INS = "lightwell.sources"
"""The group of entry points by which installed packages offer connectors; the name of an entry is that of a system."""

BUILT_IN: tuple[str, ...] = ("attio", "bucket", "chatwoot", "github", "imap", "linear", "site")
"""The systems that `open_connector` opens itself."""


class OpenPlugIn(Protocol):
    """What a plug-in's entry point names: it opens the connector of a source, and closes it at the end."""

    def __call__(
        self, source: Source, secrets: SourceSecrets
    ) -> AbstractAsyncContextManager[ItemSource]: ...


def connector_opener(settings: Settings, database: Database) -> OpenConnector:
    """Return what opens the connector of a source with the secrets that the environment has for it.

    Opening raises `Invalid` where an option or a secret is missing. A secret serves one project, system and address, which the
    environment names (`source_secrets`).
    """

    @asynccontextmanager
    async def open_connector(source: Source) -> AsyncGenerator[ItemSource, None]:
        secrets = await _secrets_for(source, settings, database)
        bound = replace(source, options=bind_address(source, secrets.base_url))
        async with _open_system(bound, secrets, settings) as connector:
            yield connector

    return open_connector


async def _secrets_for(source: Source, settings: Settings, database: Database) -> SourceSecrets:
    """Return the secrets under the source's name where they are for its project and its system, else none of them."""
    secrets = read_source_secrets(source.name)
    if secrets.system != source.system and (secrets.system or source.system not in BUILT_IN):
        return secrets.withheld()
    try:
        project = await projects.find(
            database, settings.tenant, secrets.project or settings.project
        )
    except NotFound:
        return secrets.withheld()
    return secrets if project == source.project_id else secrets.withheld()


def bind_address(source: Source, base_url: str) -> Mapping[str, str]:
    """Return the source's options with the address of the environment; raise `Invalid` where the options name another one."""
    variable = variable_name(source.name, "BASE_URL")
    schemes = ("imaps", "imap") if source.system == "imap" else ("https", "http")
    bound = parse_base_url(base_url, schemes) if base_url else ""
    stated = source.options.get("base_url")
    if stated is not None and parse_base_url(stated, schemes) != bound:
        raise Invalid(
            f"The address of a source is in the environment where Lightwell runs, beside its token: set {variable}"
            " (for the project of LIGHTWELL_PROJECT, else name the project with"
            f" {variable_name(source.name, 'PROJECT')}), and leave the option base_url out"
        )
    return {**source.options, "base_url": bound} if bound else source.options


def _open_system(
    source: Source, secrets: SourceSecrets, settings: Settings
) -> AbstractAsyncContextManager[ItemSource]:
    """Return what opens the connector of the source's system.

    A connector is imported here, because no question needs one, and their models take a while to build.
    """
    webhook_secret = secrets.webhook_secret.get_secret_value() if secrets.webhook_secret else ""
    options = source.options
    match source.system:
        case "linear":
            from lightwell.connectors.linear.source import open_linear

            return open_linear(options, secrets.require_token(), webhook_secret)
        case "attio":
            from lightwell.connectors.attio.source import open_attio

            token = secrets.require_token()
            return open_attio(options, token, webhook_secret, asked_at=source.asked_at)
        case "chatwoot":
            from lightwell.connectors.chatwoot.source import open_chatwoot

            return open_chatwoot(options, secrets.require_token(), webhook_secret)
        case "github":
            from lightwell.connectors.github.source import open_github

            return open_github(options, secrets.require_token(), webhook_secret)
        case "push":
            raise Invalid(NOTHING_TO_READ)
        case "bucket":
            return _open_bucket(source, secrets, settings)
        case "imap":
            from lightwell.connectors.imap.source import open_imap

            return open_imap(options, secrets.require_token(), settings.ingestion.max_file_bytes)
        case "site":
            from lightwell.connectors.site.source import open_site
            from lightwell.wiring.fetching import make_fetcher

            return open_site(options, make_fetcher(settings))
        case system:
            return _find_plug_in(system)(source, secrets)


def _open_bucket(
    source: Source, secrets: SourceSecrets, settings: Settings
) -> AbstractAsyncContextManager[ItemSource]:
    try:
        from lightwell.connectors.bucket import open_bucket
    except ModuleNotFoundError:
        raise Invalid("Buckets need an extra of Lightwell: uv tool install '.[bucket]'") from None
    token = secrets.token.get_secret_value() if secrets.token else ""
    return open_bucket(source.options, token, settings.ingestion.max_file_bytes)


def list_systems() -> list[str]:
    """Return the names of the systems that have a connector."""
    return sorted({*BUILT_IN, *(entry_point.name for entry_point in entry_points(group=PLUG_INS))})


def _find_plug_in(system: str) -> OpenPlugIn:
    for entry_point in entry_points(group=PLUG_INS, name=system):
        return entry_point.load()
    systems = ", ".join(list_systems()) or "none is installed"
    raise Invalid(f"There is no connector for {system!r}; there are: {systems}, and push")
