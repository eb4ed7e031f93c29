"""The one place that reads the environment: every setting, prefix LIGHTWELL_."""

import os
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal, cast
from urllib.parse import urlsplit

import platformdirs
from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from lightwell.domain.documents import MAX_DOCUMENT_CHUNKS
from lightwell.domain.errors import Invalid
from lightwell.domain.graph import DESCRIPTION_SEPARATOR
from lightwell.domain.questions import Fusion
from lightwell.domain.source_retention import SourceIdStrategy
from lightwell.embedding_settings import EmbeddingSettings
from lightwell.ownership import reason_to_distrust
from lightwell.server_settings import ServerSettings
from lightwell.source_secrets import VARIABLE_NAME
from lightwell.store_settings import StoreSettings

_PREFIX = "LIGHTWELL_"
_OF_OTHERS = re.compile(r"test_.*|.*_?service_(?:host|port.*)|port(?:_\d.*)?", re.DOTALL)
"""Names that the project's tests and Kubernetes (for a service named lightwell) put into the environment."""


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


class Settings(ServerSettings, StoreSettings, EmbeddingSettings):
    """All settings; each has a default that works on a laptop without a key.

    Raises `Invalid` for a setting that is not there, naming the nearest one, and for a `.env` that others may change.
    """

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX,
        env_file=".env",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,
    )

    data: Path = Field(
        default_factory=_default_data,
        description="Folder for the data and logs of the embedded PostgreSQL. By default `.lightwell` in the current folder if it holds a store of yours (one of another user must be named), otherwise the user's data folder.",
    )
    database_url: SecretStr | None = Field(
        default=None,
        description="URL of your own PostgreSQL, 16 or newer with pgvector, instead of the embedded one: postgresql://user:password@host/name.",
    )
    http_host: str = Field(
        default="127.0.0.1",
        description="The address that `lightwell serve` listens on; 0.0.0.0 for every network of this machine.",
    )
    http_port: Annotated[int, Field(ge=0, le=65535)] = Field(
        default=8000, description="The port that `lightwell serve` listens on; 0 takes a free one."
    )
    http_hosts: str = Field(
        default="",
        description="More names by which clients reach the server, separated by commas, such as `knowledge.example.com` or `lightwell:8000`. This machine's own and LIGHTWELL_HTTP_HOST are always allowed; other names are refused by `/mcp`, and by a server that listens on this machine only.",
    )
    metrics_token: SecretStr | None = Field(
        default=None,
        description="Bearer token with which monitoring reads `/metrics`; an API key with the scope `admin` may read it, too.",
    )
    api_key: SecretStr | None = Field(
        default=None,
        description="API key whose access `lightwell mcp` has, instead of the access tags of `--as`; also the key that `ask` and `search` show to a server, instead of a saved one.",
    )
    http_worker: bool = Field(
        default=True,
        description="Whether `lightwell serve` also processes enqueued documents, in a process beside those that answer; without it, run `lightwell worker`.",
    )
    http_upload_bytes: Annotated[int, Field(ge=1)] = Field(
        default=200_000_000,
        description="Largest size of one upload, all its files together, in bytes; LIGHTWELL_MAX_FILE_BYTES limits each file.",
    )
    ingest_roots: str = Field(
        default="",
        description="Folders, separated by commas, whose files clients of the server may name for ingestion. Without it, they can only upload files and name URLs.",
    )
    web_allowed_networks: str = Field(
        default="",
        description="Networks, separated by commas, that documents may be fetched from although they are not public, such as 10.1.0.0/16. Whoever may ingest reaches them through the server.",
    )
    as_: str = Field(
        default="",
        validation_alias=f"{_PREFIX}AS",  # `as` itself is a word of Python
        description="Access tags of whoever asks on this command line, separated by commas, where `--as` names none: `user:ada,team:sales`. It has no effect on a server.",
    )
    tenant: str = Field(default="default", description="The tenant that the project belongs to.")
    project: str = Field(
        default="default", description="The project. Projects share no documents and no entities."
    )

    chat_url: str | None = Field(
        default=None,
        description="URL of an OpenAI-compatible chat endpoint that writes the answers. Without it, answers are quotes from documents.",
    )
    chat_api_key: SecretStr = Field(
        default=SecretStr("none"), description="API key of the chat endpoint."
    )
    chat_model: str = Field(default="", description="Name of the chat model at its endpoint.")

    chat_price_input: Annotated[float, Field(ge=0)] | None = Field(
        default=None,
        description="Price of a million tokens sent to the chat model, for cost reports.",
    )
    chat_price_output: Annotated[float, Field(ge=0)] | None = Field(
        default=None,
        description="Price of a million tokens written by the chat model, for cost reports.",
    )

    extraction: Literal["rules", "model"] = Field(
        default="rules",
        description="What extracts entities and relations: `rules`, which cost nothing, or the chat `model`.",
    )
    extraction_form: Literal["auto", "lines", "json"] = Field(
        default="auto",
        description="Output format of extraction by the model: `json` (with a JSON schema), `lines`, or `auto` (json if the endpoint accepts a schema, otherwise lines).",
    )
    extraction_language: str = Field(
        default="",
        description="Language of the descriptions that the model writes, such as German. Without it, the language of each document.",
    )
    entity_kinds: str = Field(
        default="person,organization,place,event,product,work,concept",
        description="Kinds of entities that the model extracts, separated by commas.",
    )
    gleaning_enabled: bool = Field(
        default=True,
        description="Whether gleaning is on: further extraction requests for a passage in which the first seems to have missed names.",
    )
    gleaning_passes: Annotated[int, Field(ge=0, le=5)] = Field(
        default=1,
        description="Most gleaning requests per passage; 0 is none.",
    )
    description_max_tokens: Annotated[int, Field(ge=100)] = Field(
        default=500,
        description="If an entity's descriptions have more tokens than this, the model summarises them; otherwise they are joined.",
    )
    description_separator: Annotated[str, Field(min_length=1, max_length=20)] = Field(
        default=DESCRIPTION_SEPARATOR,
        description="Text between the parts of a description when it is shown or exported. It does not change what is stored.",
    )
    max_source_ids: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=50,
        description="Most sources that an entity or relation lists and takes its description from. All mentions are kept.",
    )
    source_id_strategy: SourceIdStrategy = Field(
        default=SourceIdStrategy.FIFO,
        description="Which sources are kept if there are more: the latest (`FIFO`) or the first (`KEEP`).",
    )
    graph_batch_size: Annotated[int, Field(ge=1, le=10_000)] = Field(
        default=500,
        description="Number of entities and relations whose profiles one transaction recomputes after ingestion.",
    )
    token_budget: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description="Most tokens that one ingestion or worker may spend before it stops; 0 is no limit.",
    )

    endpoint_concurrency: Annotated[int, Field(ge=1)] = Field(
        default=8, description="Most concurrent requests to one endpoint."
    )
    endpoint_requests_per_minute: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Most requests per minute to one endpoint; 0 is no limit."
    )
    endpoint_tokens_per_minute: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Most tokens per minute at one endpoint; 0 is no limit."
    )
    endpoint_timeout_seconds: Annotated[float, Field(gt=0)] = Field(
        default=60.0, description="Timeout of one request to an endpoint, in seconds."
    )

    answer_timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = Field(
        default=60.0,
        description="Seconds that one question may wait for models, all calls and retries together. After that the answer consists of quotes from the documents.",
    )

    context_max_tokens: Annotated[int, Field(ge=500)] = Field(
        default=4000, description="Most tokens of evidence in the prompt of the chat model."
    )
    context_entity_ratio: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.4, description="Share of these tokens for descriptions of entities."
    )
    context_relation_ratio: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.3, description="Share of these tokens for descriptions of relations."
    )
    context_chunk_ratio: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.3,
        description="Share of these tokens for passages, which also get what the other shares leave unused.",
    )

    context_min_relevance: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.02,
        description="Least relevance of the best passage for which the chat model is asked. Below it, the evidence is insufficient.",
    )

    verify: Literal["rules", "model"] = Field(
        default="rules",
        description="What verifies the sentences of a chat model: `rules`, or rules and then the chat `model` as a second judge, with one more call for each sentence.",
    )

    fusion: Fusion = Field(
        default=Fusion.LEARNED,
        description="How the ranks of the channels are combined: by `learned` weights, or by reciprocal rank fusion (`rrf`).",
    )
    keyword_extraction: Literal["auto"] | bool = Field(
        default="auto",
        description="Whether the chat model extracts a question's keywords: `true`, `false`, or `auto` (if it also extracts the graph).",
    )
    keyword_cache_seconds: Annotated[float, Field(ge=0)] = Field(
        default=3600.0, description="Seconds for which the keywords of a question are cached."
    )

    rerank: Literal["local", "none", "cohere", "jina", "endpoint", "tei"] = Field(
        default="local",
        description="What reranks the best passages: bundled late interaction (`local`), nothing (`none`), `cohere`, `jina`, a /rerank `endpoint` (vLLM, Infinity), or `tei`.",
    )
    rerank_url: str = Field(
        default="",
        description="URL of the reranker, such as http://localhost:8000/v1. Not needed for Cohere and Jina.",
    )
    rerank_api_key: SecretStr = Field(
        default=SecretStr(""), description="API key of the reranker. Cohere and Jina need one."
    )
    rerank_model: str = Field(
        default="", description="Name of the reranker's model, such as Qwen/Qwen3-Reranker-4B."
    )
    rerank_min_score: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.1,
        description="Passages to which a reranking endpoint gives a lower relevance are dropped.",
    )
    rerank_timeout_ms: Annotated[int, Field(gt=0)] = Field(
        default=2000,
        description="Timeout of the reranker, in milliseconds. After that the order before reranking is used, and the answer has a note.",
    )
    rerank_scores: Literal["probability", "logit"] = Field(
        default="probability",
        description="Type of the reranker's scores: `probability` or `logit`. llama.cpp returns logits for some models.",
    )
    rerank_scale: Annotated[float, Field(gt=0)] = Field(
        default=1.0,
        description="Scale of the reranker's calibration, which makes 0.6 mean the same for every reranker: relevance = sigmoid(scale · logit(score) + shift).",
    )
    rerank_shift: float = Field(
        default=0.0,
        description="Shift of the reranker's calibration. `lightwell eval --calibrate` finds scale and shift.",
    )
    max_file_bytes: Annotated[int, Field(ge=1)] = Field(
        default=50_000_000,
        description="Largest size of a file, in bytes. Larger files are refused, and the report names them.",
    )
    parse_memory_mb: Annotated[int, Field(ge=256, le=65_536)] = Field(
        default=2048,
        description="Most megabytes of memory for parsing one document (not enforced on macOS).",
    )
    parse_cpu_seconds: Annotated[int, Field(ge=1, le=3600)] = Field(
        default=60,
        description="Most seconds of processor time for parsing one document. Small files get less: 10 seconds, and 10 more for each MB.",
    )
    parse_seconds: Annotated[float, Field(ge=1, le=86_400)] = Field(
        default=300.0, description="Most seconds of elapsed time for parsing one document."
    )
    max_document_chunks: Annotated[int, Field(ge=1, le=100_000)] = Field(
        default=MAX_DOCUMENT_CHUNKS,
        description="Most chunks of one document that are ingested. The rest of a longer document is left out, with a warning.",
    )
    lease_seconds: Annotated[float, Field(ge=1, le=3600)] = Field(
        default=30.0,
        description="Seconds without a heartbeat after which other workers take over a worker's jobs.",
    )

    @field_validator("embedding_url", "next_embedding_url", "chat_url", "rerank_url")
    @classmethod
    def _is_http(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value and not _is_http_url(value):
            raise Invalid(
                f"{_PREFIX}{str(info.field_name).upper()} is not an HTTP URL; write it like http://localhost:8000/v1"
            )
        return value

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
        if isinstance(init_settings, InitSettingsSource):
            _refuse_unknown(
                cast("dict[str, object]", init_settings.init_kwargs),
                "the arguments of Settings",
                lambda name: name,
            )
        if isinstance(dotenv_settings, DotEnvSettingsSource):
            if isinstance(dotenv_settings.env_file, str | Path):
                _refuse_distrusted(Path(dotenv_settings.env_file))
            _refuse_unknown(
                _ours(dotenv_settings.env_vars), str(dotenv_settings.env_file), _setting_name
            )
        if isinstance(env_settings, EnvSettingsSource):
            _refuse_unknown(_ours(env_settings.env_vars), "the environment", _setting_name)
        return init_settings, env_settings, dotenv_settings, file_secret_settings


def settings_from_environment() -> Settings:
    """Return the settings of the environment and `.env`; raise `Invalid` naming what is wrong, never its value."""
    try:
        return Settings()
    except ValidationError as error:
        wrong = "; ".join(
            f"{_PREFIX}{'_'.join(str(part) for part in each['loc']).upper()}: {each['msg']}"
            for each in error.errors(include_input=False, include_url=False)
        )
        raise Invalid(f"The environment or .env is wrong: {wrong}") from None


def _ours(variables: Iterable[str]) -> list[str]:
    """Return the names of our variables, in small letters and without the prefix."""
    prefix = _PREFIX.lower()
    names = (
        name.lower().removeprefix(prefix) for name in variables if name.lower().startswith(prefix)
    )
    return [
        name for name in names if not (_OF_OTHERS.fullmatch(name) or VARIABLE_NAME.fullmatch(name))
    ]


def _setting_name(name: str) -> str:
    return _PREFIX + name.upper()


def _refuse_unknown(names: Iterable[str], where: str, told: Callable[[str], str]) -> None:
    known = [field.removesuffix("_") for field in Settings.model_fields]
    for name in names:
        if name in known or name.startswith("_"):
            continue
        near = get_close_matches(name.lower().removeprefix(_PREFIX.lower()), known, n=1, cutoff=0.5)
        guess = f"; do you mean {told(near[0])}?" if near else ""
        raise Invalid(f"There is no setting {told(name)}, which is set in {where}{guess}")


def _refuse_distrusted(path: Path) -> None:
    if path.is_file() and (reason := reason_to_distrust(path.stat())):
        raise Invalid(
            f"{path.absolute()} {reason}, who could use it to send your documents elsewhere. Make yourself its owner and take write"
            " permission from others (`chown`, `chmod go-w`), or remove it and set the variables in the environment"
        )


def _is_http_url(value: str) -> bool:
    try:
        parts = urlsplit(value)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
