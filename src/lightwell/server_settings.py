"""The settings of the HTTP server's identity and limits, as fields of `Settings`, which reads them."""

from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings


class ServerSettings(BaseSettings):
    """Who is let in over HTTP, how often, and what is written about it."""

    http_origins: str = Field(
        default="",
        description="Web pages that may call the server from a browser (CORS), separated by commas, such as https://chat.example.com. None by default.",
    )
    http_proxies: str = Field(
        default="",
        description="The proxies in front of the server, addresses or networks separated by commas, such as `127.0.0.1`. Only they are believed when the header `X-Forwarded-For` names a client's address, which counts for LIGHTWELL_FAILED_LOGINS_PER_MINUTE and in the audit log; each of them must set or extend that header.",
    )
    http_uploads: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=8,
        description="Most uploads and fetches of documents at once in one process, half of them with one key; further ones wait up to 30 seconds, then get 503. Each may hold a file of LIGHTWELL_MAX_FILE_BYTES in memory, twice.",
    )
    key_streams: Annotated[int, Field(ge=1, le=100_000)] = Field(
        default=256,
        description="Most event streams (answers, jobs) open at once with one API key or token in one process; further ones get 429.",
    )
    key_requests_per_minute: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        default=600,
        description="Most requests per minute with one API key or token, counted across processes; for a key that acts for people, for each of them. 0 is no limit.",
    )
    tenant_requests_per_minute: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        default=0,
        description="Most requests per minute of all callers together, counted across processes; 0 is no limit.",
    )
    failed_logins_per_minute: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        default=60,
        description="Most requests per minute from one address whose API key or token is not valid, counted in each process; 0 is no limit.",
    )
    audit_log: str = Field(
        default="",
        description="File to which the HTTP server appends a line of JSON for each request, and commands that administer one each; readable only by its owner. `-` is stdout. Without it, nothing is written.",
    )
    traces_url: str = Field(
        default="",
        description="Where the server sends spans of its work by OpenTelemetry's protocol (OTLP over HTTP), such as http://127.0.0.1:4318/v1/traces. Needs the extra `otel`. Spans hold routes, statuses and times, never a text. Without it, none are made.",
    )
    oidc_issuer: str = Field(
        default="",
        description="URL of an OpenID Connect issuer whose tokens are accepted beside API keys, exactly as its tokens name it, such as https://login.example.com/realms/halden.",
    )
    oidc_audience: str = Field(
        default="", description="The audience that the issuer's tokens must have."
    )
    oidc_algorithms: str = Field(
        default="RS256,ES256",
        description="Signature algorithms that are accepted, separated by commas. Only asymmetric ones can be named.",
    )
    oidc_person_claim: str = Field(
        default="sub",
        description="The claim that names the person in the directory: `email` (a verified address), or any other as the external id `oidc:…`.",
    )
    oidc_tags_claim: str = Field(
        default="",
        description="The claim with the access tags of people whom the directory does not have, such as `groups` or `realm_access.roles`. Without it, they have none.",
    )
    oidc_project_claim: str = Field(
        default="",
        description="The claim that names the project of a token. Without it, tokens open LIGHTWELL_PROJECT.",
    )
    oidc_scopes: str = Field(
        default="read",
        description="What tokens allow, separated by commas: scopes other than `admin` and `impersonate`.",
    )
