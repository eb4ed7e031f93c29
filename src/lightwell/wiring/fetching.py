"""What fetches documents from the web, for those who name them and for sites that are read."""

from lightwell.connectors.web import AddressPolicy, SystemResolver, WebFetcher, parse_networks
from lightwell.settings import Settings

_FETCH_SECONDS = 30.0
"""Most seconds for fetching one document from a URL."""


def make_fetcher(settings: Settings) -> WebFetcher:
    """Return what fetches documents from the web: from public addresses, and from networks that the settings name."""
    policy = AddressPolicy(allowed=parse_networks(settings.server.web_allowed_networks))
    return WebFetcher(
        max_bytes=settings.ingestion.max_file_bytes,
        seconds=_FETCH_SECONDS,
        policy=policy,
        resolve=SystemResolver(),
    )
