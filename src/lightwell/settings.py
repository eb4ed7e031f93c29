"""The one place that reads the environment: every setting, prefix LIGHTWELL_."""

import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal, cast

import platformdirs
from pydantic import BaseModel, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from lightwell.domain.compatibility import parse_compatibility
from lightwell.domain.documents import MAX_DOCUMENT_CHUNKS
from lightwell.domain.errors import Invalid
from lightwell.domain.graph import DESCRIPTION_SEPARATOR, SourceIdStrategy
from lightwell.domain.http_urls import is_http_url, is_origin
from lightwell.domain.questions import Fusion
from lightwell.ownership import reason_to_distrust
from lightwell.source_secrets import VARIABLE_NAME
from lightwell.text.regex import regex

OPENAI_URL = "https://api.openai.com/v1"
_PREFIX = "LIGHTWELL_"
_OF_OTHERS = regex(r"test_.*|.*_?service_(?:host|port.*)|port(?:_\d.*)?", re.DOTALL)
"""Names that the project's tests and Kubernetes (for a service named lightwell) put into the environment."""

_GONE = {
    "embedding_grace_hours": "the vectors of the old model are kept for 24 hours, or until `lightwell embeddings drop`",
    "failed_logins_per_minute": "60 failed logins a minute are allowed from one address",
    "graph_timeout_seconds": "a search waits 5 seconds for the graph store",
    "http_upload_bytes": "an upload may have four times LIGHTWELL_MAX_FILE_BYTES",
    "http_uploads": "a process takes 8 uploads at once",
    "key_streams": "an API key may have 256 streams open in a process",
    "milvus_timeout_seconds": "a call of Milvus may take 30 seconds",
    "parse_cpu_seconds": "parsing a document may take 60 seconds of processor time",
    "parse_memory_mb": "parsing a document may take 2048 MB of memory",
    "parse_seconds": "parsing a document may take 300 seconds",
}
"""Variables that were settings, and what holds now."""


class StoreSettings(BaseModel, frozen=True, extra="forbid"):
    """Where vectors and the graph are searched. PostgreSQL is the system of record in any case."""

    vector_store: Literal["postgres", "milvus"] = "postgres"
    """Where vectors of passages, entities and relations are searched: `postgres` (pgvector), or `milvus`, a server of its own (docs/stores.md)."""
    milvus_url: str = "http://127.0.0.1:19530"
    """Address of the Milvus server."""
    milvus_token: SecretStr = SecretStr("")
    """Token of the Milvus server, `user:password` or an API key. Without it, none is sent."""
    graph_store: Literal["postgres", "neo4j", "age"] = "postgres"
    """Where questions search the graph: `postgres` (the tables of record), or a copy in `neo4j` or `age` (Apache AGE) that workers keep up to date."""
    neo4j_url: str = "bolt://127.0.0.1:7687"
    """URL of the Neo4j server, 5.26 or newer: bolt:// for one server, neo4j:// for a cluster, neo4j+s:// with TLS."""
    neo4j_user: str = "neo4j"
    """The user who signs in to Neo4j."""
    neo4j_password: SecretStr | None = None
    """The password of that user. Whoever has it reads the whole graph."""
    age_url: SecretStr | None = None
    """URL of the PostgreSQL database with Apache AGE, `postgresql://user:password@host:5432/database`. Whoever has it reads the whole graph."""


class HttpSettings(BaseModel, frozen=True, extra="forbid"):
    """Where `lightwell serve` listens, and who may call it from where: LIGHTWELL_HTTP_..."""

    host: str = "127.0.0.1"
    """The address that `lightwell serve` listens on; 0.0.0.0 for every network of this machine."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    """The port that `lightwell serve` listens on; 0 takes a free one."""
    hosts: str = ""
    """More names by which clients reach the server, separated by commas, such as `knowledge.example.com` or `lightwell:8000`. This machine's own and LIGHTWELL_HTTP_HOST are always allowed; other names are refused by `/mcp`, and by a server that listens on this machine only."""
    origins: str = ""
    """Web pages that may call the server from a browser (CORS), separated by commas, such as https://chat.example.com. None by default."""
    compatibility: str = ""
    """APIs of other programs that the server also speaks, separated by commas: `dify` (external knowledge), `lightrag` (the API of LightRAG 1.5.7, under `/lightrag`), `ollama`, `tool-server` (for Open WebUI). None by default; the same keys, access and limits hold as under `/v1` (docs/clients)."""
    forwarding_secret: SecretStr = SecretStr("")
    """Secret with which Open WebUI signs the users whom it forwards, its FORWARD_USER_INFO_HEADER_JWT_SECRET, of at least 32 characters. With it, no other user is taken from its headers (docs/clients/open-webui.md)."""
    proxies: str = ""
    """The proxies in front of the server, addresses or networks separated by commas, such as `127.0.0.1`. Only they are believed when the header `X-Forwarded-For` names a client's address, which counts for the limit of failed logins and in the audit log; each of them must set or extend that header."""
    worker: bool = True
    """Whether `lightwell serve` also processes enqueued documents, in a process beside those that answer; without it, run `lightwell worker`."""


class ServerSettings(BaseModel, frozen=True, extra="forbid"):
    """How often the server may be called, what it may read, and what it reports."""

    key_requests_per_minute: Annotated[int, Field(ge=0, le=1_000_000)] = 600
    """Most requests per minute with one API key or token, counted across processes; for a key that acts for people, for each of them. 0 is no limit."""
    tenant_requests_per_minute: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """Most requests per minute of all callers together, counted across processes; 0 is no limit."""
    public_url: str = ""
    """Address under which people reach the server, such as https://knowledge.example.com: for links to documents, invitations and signing in with a provider. Without it, the address that a request names."""
    ingest_roots: str = ""
    """Folders, separated by commas, whose files clients of the server may name for ingestion. Without it, they can only upload files and name URLs."""
    web_allowed_networks: str = ""
    """Networks, separated by commas, that documents may be fetched from although they are not public, such as 10.1.0.0/16. Whoever may ingest reaches them through the server."""
    lightrag_webui: Path | None = None
    """The folder of LightRAG's own WebUI, unpacked from its wheel, which is then at `/lightrag/webui/`; with `lightrag` among LIGHTWELL_HTTP_COMPATIBILITY (docs/clients/lightrag.md)."""
    metrics_token: SecretStr | None = None
    """Bearer token with which monitoring reads `/metrics`; an API key with the scope `admin` may read it, too."""
    audit_log: str = ""
    """File to which the HTTP server appends a line of JSON for each request, and commands that administer one each; readable only by its owner. `-` is stdout. Without it, nothing is written."""
    traces_url: str = ""
    """Where the server sends spans of its work by OpenTelemetry's protocol (OTLP over HTTP), such as http://127.0.0.1:4318/v1/traces. Needs the extra `otel`. Spans hold routes, statuses and times, never a text. Without it, none are made."""


class OidcSettings(BaseModel, frozen=True, extra="forbid"):
    """An OpenID Connect issuer whose tokens are accepted: LIGHTWELL_OIDC_..."""

    issuer: str = ""
    """URL of an OpenID Connect issuer whose tokens are accepted beside API keys, exactly as its tokens name it, such as https://login.example.com/realms/halden."""
    audience: str = ""
    """The audience that the tokens of programs must have. Without it, none are accepted."""
    client_id: str = ""
    """This server's name at the issuer, for people who sign in with a browser (authorization code with PKCE; the address to allow there is `/v1/sign-in/oidc/callback` of this server). Without it, the page offers no sign-in with the issuer."""
    client_secret: SecretStr = SecretStr("")
    """The secret of that client. Without it, the client is a public one."""
    algorithms: str = "RS256,ES256"
    """Signature algorithms that are accepted, separated by commas. Only asymmetric ones can be named."""
    person_claim: str = "sub"
    """The claim that names the person in the directory: `email` (a verified address), or any other as the external id `oidc:…`."""
    tags_claim: str = ""
    """The claim with the access tags of people whom the directory does not have, such as `groups` or `realm_access.roles`. Without it, they have none."""
    project_claim: str = ""
    """The claim that names the project of a token. Without it, tokens open LIGHTWELL_PROJECT."""
    scopes: str = "read"
    """What tokens allow, separated by commas: scopes other than `admin` and `impersonate`."""


class ChannelSettings(BaseModel, frozen=True, extra="forbid"):
    """The bots of chat platforms; each works where its token is set, for LIGHTWELL_PROJECT."""

    telegram_token: SecretStr | None = None
    """Token of a Telegram bot, which people of the directory ask in their chats. Needs the extra `telegram`. Without it, there is no bot."""
    telegram_webhook_secret: SecretStr = SecretStr("")
    """Secret with which Telegram signs what it sends to LIGHTWELL_PUBLIC_URL, 16 to 256 letters, digits, `_` and `-`. Without it, the server asks Telegram for what is new, and needs no public address."""
    telegram_api: str = "https://api.telegram.org"
    """Address of Telegram's Bot API; another one for a Bot API server of your own."""
    slack_bot_token: SecretStr | None = None
    """Bot token of a Slack app, `xoxb-...`. Needs the extra `slack`. Without it, there is no bot."""
    slack_app_token: SecretStr | None = None
    """App-level token of the Slack app, `xapp-...`, with which the server connects to Slack by Socket Mode and needs no public address."""
    slack_signing_secret: SecretStr | None = None
    """Signing secret of the Slack app, with which Slack signs what it sends to LIGHTWELL_PUBLIC_URL, where it does not use Socket Mode."""
    slack_api: str = "https://slack.com/api"
    """Address of Slack's Web API."""
    slack_trusted_workspaces: str = ""
    """Ids of Slack workspaces, separated by commas, such as T012AB3CD: whose accounts there have the confirmed e-mail address of a person in the directory are that person's. Accounts of others are linked by a code."""

    @property
    def bot_tokens(self) -> Mapping[str, SecretStr]:
        """The tokens of the bots that are to run, by the names of their platforms."""
        tokens = {"telegram": self.telegram_token, "slack": self.slack_bot_token}
        return {platform: token for platform, token in tokens.items() if token is not None}


class EmbeddingSettings(BaseModel, frozen=True, extra="forbid"):
    """A model that embeds documents and questions: LIGHTWELL_EMBEDDING_..., and LIGHTWELL_NEXT_EMBEDDING_..."""

    url: str | None = None
    """URL of an OpenAI-compatible endpoint for embeddings, such as http://localhost:11434/v1. Without it, the bundled model is used, which is made for English."""
    api_key: SecretStr = SecretStr("none")
    """API key of the embedding endpoint."""
    model: str = ""
    """Name of the embedding model at its endpoint."""
    dimension: Annotated[int, Field(ge=0)] = 0
    """Dimension of embeddings to request from the endpoint; 0 uses the model's own."""
    matryoshka: bool = False
    """Whether the model's vectors may be cut to LIGHTWELL_EMBEDDING_DIMENSION here (Matryoshka), as those of Qwen3-Embedding. Without it, the endpoint is asked for that dimension."""
    instruction: str = ""
    """What the model is told to do with a question, such as `Given a question, retrieve passages that answer it`; it gets `Instruct: ...` and `Query: ...`, as Qwen3-Embedding and E5-instruct expect. Documents are embedded without it."""
    price: Annotated[float, Field(ge=0)] | None = None
    """Price of a million tokens at the embedding endpoint, for estimates."""


class ChatSettings(BaseModel, frozen=True, extra="forbid"):
    """The chat model: LIGHTWELL_CHAT_..."""

    url: str | None = None
    """URL of an OpenAI-compatible chat endpoint that writes the answers. Without it, answers are quotes from documents."""
    api_key: SecretStr = SecretStr("none")
    """API key of the chat endpoint."""
    model: str = ""
    """Name of the chat model at its endpoint."""
    price_input: Annotated[float, Field(ge=0)] | None = None
    """Price of a million tokens sent to the chat model, for cost reports."""
    price_output: Annotated[float, Field(ge=0)] | None = None
    """Price of a million tokens written by the chat model, for cost reports."""


class EndpointSettings(BaseModel, frozen=True, extra="forbid"):
    """Limits for each endpoint of a model: LIGHTWELL_ENDPOINT_..."""

    concurrency: Annotated[int, Field(ge=1)] = 8
    """Most concurrent requests to one endpoint."""
    requests_per_minute: Annotated[int, Field(ge=0)] = 0
    """Most requests per minute to one endpoint; 0 is no limit."""
    tokens_per_minute: Annotated[int, Field(ge=0)] = 0
    """Most tokens per minute at one endpoint; 0 is no limit."""
    timeout_seconds: Annotated[float, Field(gt=0)] = 60.0
    """Timeout of one request to an endpoint, in seconds."""


class ParserSettings(BaseModel, frozen=True, extra="forbid"):
    """A parser elsewhere, for formats that Lightwell does not read: LIGHTWELL_PARSER_..."""

    url: str | None = None
    """Whole address of a parser of files: of docling-serve, which ends with /v1/convert/file, of Apache Tika, /tika, or of Unstructured, /general/v0/general. Files in formats that Lightwell does not read (doc, ppt, msg, rtf, pictures) are sent there (docs/parsers.md). Without it, none are."""
    api_key: SecretStr = SecretStr("")
    """API key of that parser, if it asks for one."""


class IngestionSettings(BaseModel, frozen=True, extra="forbid"):
    """What ingestion reads and extracts, and what it keeps."""

    max_file_bytes: Annotated[int, Field(ge=1)] = 50_000_000
    """Largest size of a file, in bytes. Larger files are refused, and the report names them."""
    max_document_chunks: Annotated[int, Field(ge=1, le=100_000)] = MAX_DOCUMENT_CHUNKS
    """Most chunks of one document that are ingested. The rest of a longer document is left out, with a warning."""
    lease_seconds: Annotated[float, Field(ge=1, le=3600)] = 30.0
    """Seconds without a heartbeat after which other workers take over a worker's jobs."""
    token_budget: Annotated[int, Field(ge=0)] = 0
    """Most tokens that one ingestion or worker may spend before it stops; 0 is no limit."""
    embedding_batch_size: Annotated[int, Field(ge=1, le=2048)] = 32
    """Number of texts in one request to the embedding endpoint, or in one call of the bundled model, which is given at most 32 new passages at a time."""
    graph_batch_size: Annotated[int, Field(ge=1, le=10_000)] = 500
    """Number of entities and relations whose profiles one transaction recomputes after ingestion."""
    extraction: Literal["rules", "model"] = "rules"
    """What extracts entities and relations: `rules`, which cost nothing, or the chat `model`."""
    extraction_form: Literal["auto", "lines", "json"] = "auto"
    """Output format of extraction by the model: `json` (with a JSON schema), `lines`, or `auto` (json if the endpoint accepts a schema, otherwise lines)."""
    extraction_language: str = ""
    """Language of the descriptions that the model writes, such as German. Without it, the language of each document."""
    entity_kinds: str = "person,organization,place,event,product,work,concept"
    """Kinds of entities that the model extracts, separated by commas."""
    gleaning_enabled: bool = True
    """Whether gleaning is on: further extraction requests for a passage in which the first seems to have missed names."""
    gleaning_passes: Annotated[int, Field(ge=0, le=5)] = 1
    """Most gleaning requests per passage; 0 is none."""
    description_max_tokens: Annotated[int, Field(ge=100)] = 500
    """If an entity's descriptions have more tokens than this, the model summarises them; otherwise they are joined."""
    description_separator: Annotated[str, Field(min_length=1, max_length=20)] = (
        DESCRIPTION_SEPARATOR
    )
    """Text between the parts of a description when it is shown or exported. It does not change what is stored."""
    max_source_ids: Annotated[int, Field(ge=1, le=1000)] = 50
    """Most sources that an entity or relation lists and takes its description from. All mentions are kept."""
    source_id_strategy: SourceIdStrategy = SourceIdStrategy.FIFO
    """Which sources are kept if there are more: the latest (`FIFO`) or the first (`KEEP`)."""


class ContextSettings(BaseModel, frozen=True, extra="forbid"):
    """What the chat model is shown: LIGHTWELL_CONTEXT_..."""

    max_tokens: Annotated[int, Field(ge=500)] = 4000
    """Most tokens of evidence in the prompt of the chat model."""
    entity_ratio: Annotated[float, Field(ge=0, le=1)] = 0.4
    """Share of these tokens for descriptions of entities."""
    relation_ratio: Annotated[float, Field(ge=0, le=1)] = 0.3
    """Share of these tokens for descriptions of relations."""
    chunk_ratio: Annotated[float, Field(ge=0, le=1)] = 0.3
    """Share of these tokens for passages, which also get what the other shares leave unused."""
    min_relevance: Annotated[float, Field(ge=0, le=1)] = 0.02
    """Least relevance of the best passage for which the chat model is asked. Below it, the evidence is insufficient."""


class QuestionSettings(BaseModel, frozen=True, extra="forbid"):
    """How passages are found and answers verified."""

    answer_timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = 60.0
    """Seconds that one question may wait for models, all calls and retries together. After that the answer consists of quotes from the documents."""
    verify: Literal["rules", "model"] = "rules"
    """What verifies the sentences of a chat model: `rules`, or rules and then the chat `model` as a second judge, with one more call for each sentence."""
    fusion: Fusion = Fusion.LEARNED
    """How the ranks of the channels are combined: by `learned` weights, or by reciprocal rank fusion (`rrf`)."""
    keyword_extraction: Literal["auto"] | bool = "auto"
    """Whether the chat model extracts a question's keywords: `true`, `false`, or `auto` (if it also extracts the graph)."""
    keyword_cache_seconds: Annotated[float, Field(ge=0)] = 3600.0
    """Seconds for which the keywords of a question are cached."""
    rerank: Literal["local", "none", "cohere", "jina", "endpoint", "tei"] = "local"
    """What reranks the best passages: bundled late interaction (`local`), nothing (`none`), `cohere`, `jina`, a /rerank `endpoint` (vLLM, Infinity), or `tei`."""


class RerankerSettings(BaseModel, frozen=True, extra="forbid"):
    """A reranker at an endpoint: LIGHTWELL_RERANK_..."""

    url: str = ""
    """URL of the reranker, such as http://localhost:8000/v1. Not needed for Cohere and Jina."""
    api_key: SecretStr = SecretStr("")
    """API key of the reranker. Cohere and Jina need one."""
    model: str = ""
    """Name of the reranker's model, such as Qwen/Qwen3-Reranker-4B."""
    min_score: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Passages to which a reranking endpoint gives a lower relevance are dropped."""
    timeout_ms: Annotated[int, Field(gt=0)] = 2000
    """Timeout of the reranker, in milliseconds. After that the order before reranking is used, and the answer has a note."""
    scores: Literal["probability", "logit"] = "probability"
    """Type of the reranker's scores: `probability` or `logit`. llama.cpp returns logits for some models."""
    scale: Annotated[float, Field(gt=0)] = 1.0
    """Scale of the reranker's calibration, which makes 0.6 mean the same for every reranker: relevance = sigmoid(scale · logit(score) + shift)."""
    shift: float = 0.0
    """Shift of the reranker's calibration. `lightwell eval --calibrate` finds scale and shift."""


def _default_data() -> Path:
    """Return the current folder's store if there is one, else the user's data folder; raise `Invalid` for a store of another user.

    Root gets a system folder, since the server of root runs under another account.
    """
    here = Path(".lightwell")
    if (here / "postgres").is_dir() or (here / "postgres").is_symlink():
        if here.stat().st_uid != os.geteuid():
            raise Invalid(
                f"{here.absolute()} is a store of another user, who would get your documents: set LIGHTWELL_DATA to a data directory"
                " of your own, or to this one if you mean it"
            )
        return here
    if os.geteuid() == 0:
        return Path("/var/lib/lightwell")
    return platformdirs.user_data_path("lightwell", appauthor=False)


class Settings(BaseSettings):
    """All settings, by subject; each has a default that works on a laptop without a key.

    LIGHTWELL_HTTP_PORT is `http.port`, LIGHTWELL_PROJECT is `project`; `VARIABLES` has all names. Raises `Invalid` for a setting that
    is not there, naming the nearest one, and for a `.env` that others may change.
    """

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX,
        env_file=".env",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,
    )

    data: Path = Field(default_factory=_default_data)
    """Folder for the data and logs of the embedded PostgreSQL. By default `.lightwell` in the current folder if it holds a store of yours (one of another user must be named), otherwise the user's data folder."""
    database_url: SecretStr | None = None
    """URL of your own PostgreSQL, 16 or newer with pgvector, instead of the embedded one: postgresql://user:password@host/name."""
    database_connections: Annotated[int, Field(ge=1, le=1000)] = 10
    """Most connections to PostgreSQL that one process keeps. An export uses one more while it runs."""
    tenant: str = "default"
    """The tenant that the project belongs to."""
    project: str = "default"
    """The project. Projects share no documents and no entities."""
    api_key: SecretStr | None = None
    """API key whose access `lightwell mcp` has, instead of the access tags of `--as`; also the key that `ask` and `search` show to a server, instead of a saved one."""
    as_: str = ""
    """Access tags of whoever asks on this command line, separated by commas, where `--as` names none: `user:ada,team:sales`. It has no effect on a server."""

    stores: StoreSettings = StoreSettings()
    http: HttpSettings = HttpSettings()
    server: ServerSettings = ServerSettings()
    oidc: OidcSettings = OidcSettings()
    channels: ChannelSettings = ChannelSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    next_embedding: EmbeddingSettings = EmbeddingSettings()
    """The model to which `lightwell embeddings change` changes a project. Its dimension must be given, because a process that starts while the endpoint is down must know it."""
    chat: ChatSettings = ChatSettings()
    endpoint: EndpointSettings = EndpointSettings()
    parser: ParserSettings = ParserSettings()
    ingestion: IngestionSettings = IngestionSettings()
    questions: QuestionSettings = QuestionSettings()
    context: ContextSettings = ContextSettings()
    reranker: RerankerSettings = RerankerSettings()

    def with_values(self, values: Mapping[str, object]) -> "Settings":
        """Return a copy with other values of settings that are named by their places, such as `http.port`; they are not checked."""
        settings = self
        for place, value in values.items():
            subject, _, name = place.rpartition(".")
            if subject:
                part = cast("BaseModel", getattr(settings, subject))
                value = part.model_copy(update={name: value})
            settings = settings.model_copy(update={subject or name: value})
        return settings

    @model_validator(mode="after")
    def _check_values(self) -> "Settings":
        if self.server.public_url and not is_origin(self.server.public_url):
            raise Invalid(
                f"{_PREFIX}PUBLIC_URL is not the address of a server; write it like https://knowledge.example.com"
            )
        parse_compatibility(self.http.compatibility)
        for name, url in {
            "EMBEDDING_URL": self.embedding.url,
            "NEXT_EMBEDDING_URL": self.next_embedding.url,
            "CHAT_URL": self.chat.url,
            "RERANK_URL": self.reranker.url,
            "PARSER_URL": self.parser.url,
            "TELEGRAM_API": self.channels.telegram_api,
            "SLACK_API": self.channels.slack_api,
        }.items():
            if url and not is_http_url(url):
                raise Invalid(
                    f"{_PREFIX}{name} is not an HTTP URL; write it like http://localhost:{'9998/tika' if name == 'PARSER_URL' else '8000/v1'}"
                )
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources by precedence; raise `Invalid` for unknown settings and for a `.env` that others may change."""
        sources: list[PydanticBaseSettingsSource] = []
        if isinstance(init_settings, InitSettingsSource):
            arguments = cast("dict[str, object]", init_settings.init_kwargs)
            sources.append(InitSettingsSource(settings_cls, _only_named(arguments)))
        if isinstance(env_settings, EnvSettingsSource):
            sources.append(_source(settings_cls, env_settings.env_vars, "the environment"))
        if isinstance(dotenv_settings, DotEnvSettingsSource):
            file = dotenv_settings.env_file
            if isinstance(file, str | Path):
                _refuse_distrusted(Path(file))
            sources.append(_source(settings_cls, dotenv_settings.env_vars, str(file)))
        return tuple(sources)


_PREFIXED = {"reranker": "rerank_"} | {
    subject: f"{subject}_"
    for subject in "http oidc embedding next_embedding chat endpoint parser context".split()
}
"""What the variables of a subject begin with; in other subjects a setting is named like its variable."""


def _variables() -> dict[str, tuple[str, ...]]:
    variables: dict[str, tuple[str, ...]] = {}
    for name, field in Settings.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            for part in field.annotation.model_fields:
                variables[_PREFIXED.get(name, "") + part] = (name, part)
        else:
            variables[name.removesuffix("_")] = (name,)
    return {f"{_PREFIX}{name.upper()}": place for name, place in variables.items()}


VARIABLES = _variables()
"""Every variable, with the place of its setting: ("http", "port") for LIGHTWELL_HTTP_PORT."""


def openai_login() -> tuple[str, SecretStr]:
    """Return the address and the key of OpenAI that its own clients read from the environment; "" for no key."""
    url = os.environ.get("OPENAI_BASE_URL", "").rstrip("/") or OPENAI_URL
    return url, SecretStr(os.environ.get("OPENAI_API_KEY", ""))


def settings_from_environment() -> Settings:
    """Return the settings of the environment and `.env`; raise `Invalid` naming what is wrong, never its value."""
    try:
        return Settings()
    except ValidationError as error:
        names = {place: variable for variable, place in VARIABLES.items()}
        wrong: list[str] = []
        for problem in error.errors(include_input=False, include_url=False):
            place = tuple(map(str, problem["loc"]))
            variable = names.get(place[:2]) or names[place[:1]]  # what follows is a part of a union
            wrong.append(f"{variable}: {problem['msg']}")
        raise Invalid(f"The environment or .env is wrong: {'; '.join(wrong)}") from None


def _source(
    settings: type[BaseSettings], variables: Mapping[str, str | None], where: str
) -> InitSettingsSource:
    """Return what these variables, in small letters, say; raise `Invalid` for one of ours that is no setting."""
    values: dict[str, object] = {}
    for variable, value in variables.items():
        name = variable.removeprefix(_PREFIX.lower())
        if name == variable or _OF_OTHERS.fullmatch(name) or VARIABLE_NAME.fullmatch(name):
            continue
        if variable.upper() not in VARIABLES:
            raise Invalid(_explain_unknown(name, where))
        place = VARIABLES[variable.upper()]
        if value is not None and len(place) == 1:
            values[place[0]] = value
        elif value is not None:
            cast("dict[str, object]", values.setdefault(place[0], {}))[place[1]] = value
    return InitSettingsSource(settings, values)


def _explain_unknown(name: str, where: str) -> str:
    variable = _PREFIX + name.upper()
    if name in _GONE:
        return (
            f"{variable}, which is set in {where}, is no setting any more: {_GONE[name]}. Remove it"
        )
    near = get_close_matches(variable, VARIABLES, n=1, cutoff=0.7)
    guess = f"; do you mean {near[0]}?" if near else ""
    return f"There is no setting {variable}, which is set in {where}{guess}"


def _only_named(arguments: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments of `Settings`, of a subject what it names; raise `Invalid` for one that is no setting."""
    for name in arguments:
        if name not in Settings.model_fields and not name.startswith("_"):
            places = [".".join(place) for place in VARIABLES.values()]
            near = get_close_matches(name.lower().removeprefix(_PREFIX.lower()), places, cutoff=0.5)
            guess = f"; do you mean {near[0]}?" if near else ""
            raise Invalid(
                f"There is no setting {name}, which is set in the arguments of Settings{guess}"
            )
    return {
        name: value.model_dump(exclude_unset=True) if isinstance(value, BaseModel) else value
        for name, value in arguments.items()
    }


def _refuse_distrusted(path: Path) -> None:
    if path.is_file() and (reason := reason_to_distrust(path.stat())):
        raise Invalid(
            f"{path.absolute()} {reason}, who could use it to send your documents elsewhere. Make yourself its owner and take write"
            " permission from others (`chown`, `chmod go-w`), or remove it and set the variables in the environment"
        )
