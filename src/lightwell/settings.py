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
from lightwell.domain.sources import SourceIdStrategy
from lightwell.ownership import reason_to_distrust

_PREFIX = "LIGHTWELL_"
_OF_OTHERS = re.compile(r"test_.*|.*_?service_(?:host|port.*)|port(?:_\d.*)?", re.DOTALL)
"""Names that the project's tests and Kubernetes (for a service named lightwell) put into the environment."""


def _default_data() -> Path:
    """Return the current folder's store if there is one, else the user's; root's server runs under another account."""
    here = Path(".lightwell")
    if (here / "postgres").is_dir():
        return here
    if os.geteuid() == 0:
        return Path("/var/lib/lightwell")
    return platformdirs.user_data_path("lightwell", appauthor=False)


class Settings(BaseSettings):
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
        description="Where the embedded PostgreSQL keeps its data and logs; by default `.lightwell` of the current folder if a store is there, else the user's data folder.",
    )
    database_url: SecretStr | None = Field(
        default=None,
        description="A PostgreSQL 16 or newer with pgvector, instead of the embedded one: postgresql://user:password@host/name.",
    )
    database_connections: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=10,
        description="Connections to PostgreSQL that one process keeps at most; an export takes one more while it runs.",
    )
    tenant: str = Field(default="default", description="The tenant that the project belongs to.")
    project: str = Field(default="default", description="The project; nothing crosses a project.")

    embedding_url: str | None = Field(
        default=None,
        description="An OpenAI-compatible endpoint for embeddings, such as http://localhost:11434/v1; without it the bundled model is used, which knows English.",
    )
    embedding_api_key: SecretStr = Field(
        default=SecretStr("none"), description="The key of the embedding endpoint."
    )
    embedding_model: str = Field(
        default="", description="The embedding model's name at its endpoint."
    )
    embedding_dimension: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description="How many dimensions to ask the endpoint for; 0 takes what the model gives.",
    )
    embedding_batch_size: Annotated[int, Field(ge=1, le=2048)] = Field(
        default=32, description="Texts that are embedded at once, in one request to an endpoint."
    )

    chat_url: str | None = Field(
        default=None,
        description="An OpenAI-compatible chat endpoint that writes the answers; without it they are extracts.",
    )
    chat_api_key: SecretStr = Field(
        default=SecretStr("none"), description="The key of the chat endpoint."
    )
    chat_model: str = Field(default="", description="The chat model's name at its endpoint.")

    chat_price_input: Annotated[float, Field(ge=0)] | None = Field(
        default=None,
        description="What a million tokens sent to the chat model cost, for estimates.",
    )
    chat_price_output: Annotated[float, Field(ge=0)] | None = Field(
        default=None, description="What a million tokens written by the chat model cost."
    )

    extraction: Literal["rules", "model"] = Field(
        default="rules",
        description="Who reads the graph out of documents: `rules`, which cost nothing, or the chat `model`.",
    )
    extraction_form: Literal["auto", "lines", "json"] = Field(
        default="auto",
        description="How the model writes what it reads: `json`, held to a schema, `lines`, or `auto`: json where the endpoint takes a schema, else lines.",
    )
    extraction_language: str = Field(
        default="",
        description="The language of descriptions, such as German; without it each document's own.",
    )
    entity_kinds: str = Field(
        default="person,organization,place,event,product,work,concept",
        description="The kinds of entities the model is asked for, by commas.",
    )
    gleaning_enabled: bool = Field(
        default=True,
        description="Whether a passage may have second looks at all; `LIGHTWELL_GLEANING_PASSES` says how many.",
    )
    gleaning_passes: Annotated[int, Field(ge=0, le=5)] = Field(
        default=1,
        description="How many second looks a passage may have when the first seems to have missed names; 0 is none.",
    )
    description_max_tokens: Annotated[int, Field(ge=100)] = Field(
        default=500,
        description="Descriptions of an entity with more tokens are summarised by the model; shorter ones are joined.",
    )
    description_separator: Annotated[str, Field(min_length=1, max_length=20)] = Field(
        default=DESCRIPTION_SEPARATOR,
        description="What stands between the parts of a description that is shown or exported; the stored form stays.",
    )
    max_source_ids: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=50,
        description="Sources that an entity or relation lists and is described from; all mentions are kept.",
    )
    source_id_strategy: SourceIdStrategy = Field(
        default=SourceIdStrategy.FIFO,
        description="Which sources stay when there are more: the latest (`FIFO`), or the first ones (`KEEP`).",
    )
    graph_batch_size: Annotated[int, Field(ge=1, le=10_000)] = Field(
        default=500,
        description="Entities and relations whose profiles one transaction recomputes after their documents are read.",
    )
    token_budget: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description="Tokens that one ingestion or worker may spend before it stops; 0 is no limit.",
    )

    endpoint_concurrency: Annotated[int, Field(ge=1)] = Field(
        default=8, description="Requests under way at one endpoint at once."
    )
    endpoint_requests_per_minute: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Requests per minute and endpoint; 0 is no limit."
    )
    endpoint_tokens_per_minute: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Tokens per minute and endpoint; 0 is no limit."
    )
    endpoint_timeout_seconds: Annotated[float, Field(gt=0)] = Field(
        default=60.0, description="How long one request to an endpoint may take."
    )

    answer_timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = Field(
        default=60.0,
        description="How long one question may wait for models, all calls and their repetitions together; then the documents' own sentences are the answer.",
    )

    context_max_tokens: Annotated[int, Field(ge=500)] = Field(
        default=4000, description="Tokens of evidence that a chat model is shown."
    )
    context_entity_ratio: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.4, description="The share of these for what is said of entities."
    )
    context_relation_ratio: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.3, description="The share for what is said of relations."
    )
    context_chunk_ratio: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.3, description="The share for passages, which also get what the others leave."
    )

    context_min_relevance: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.05,
        description="The relevance of the best passage from which a chat model is asked whether it answers; below, the evidence is insufficient.",
    )

    fusion: Fusion = Field(
        default=Fusion.LEARNED,
        description="How passages are ranked: by `learned` weights, or by reciprocal ranks (`rrf`).",
    )
    keyword_extraction: Literal["auto"] | bool = Field(
        default="auto",
        description="Whether the chat model finds a question's keywords: `true`, `false`, or `auto`: where it has also read the documents.",
    )
    keyword_cache_seconds: Annotated[float, Field(ge=0)] = Field(
        default=3600.0, description="How long the keywords of a question are kept."
    )

    rerank: Literal["local", "none", "cohere", "jina", "endpoint", "tei"] = Field(
        default="local",
        description="Who judges the best passages: the bundled model, nobody, Cohere, Jina, or a /rerank `endpoint` (vLLM, Infinity) or `tei`.",
    )
    rerank_url: str = Field(
        default="",
        description="The reranker's URL, such as http://localhost:8000/v1; Cohere's and Jina's are known.",
    )
    rerank_api_key: SecretStr = Field(
        default=SecretStr(""), description="The key of the reranker; Cohere and Jina need one."
    )
    rerank_model: str = Field(
        default="", description="The reranker's model, such as Qwen/Qwen3-Reranker-4B."
    )
    rerank_min_score: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.1, description="Passages that a reranker finds less relevant are dropped."
    )
    rerank_timeout_ms: Annotated[int, Field(gt=0)] = Field(
        default=2000,
        description="How long a reranker may take; then the order before it stands, with a note.",
    )
    rerank_scores: Literal["probability", "logit"] = Field(
        default="probability",
        description="What the reranker's scores are; llama.cpp gives logits for some models.",
    )
    rerank_scale: Annotated[float, Field(gt=0)] = Field(
        default=1.0,
        description="The reranker's calibration, so that 0.6 means the same for each: relevance = sigmoid(scale · logit(score) + shift).",
    )
    rerank_shift: float = Field(
        default=0.0,
        description="The calibration's shift; `lightwell eval --calibrate` finds both.",
    )
    max_file_bytes: Annotated[int, Field(ge=1)] = Field(
        default=50_000_000, description="Files above this size are refused, with a reason."
    )
    parse_memory_mb: Annotated[int, Field(ge=256, le=65_536)] = Field(
        default=2048,
        description="Megabytes of memory that parsing one document may take (not enforced on macOS).",
    )
    parse_cpu_seconds: Annotated[int, Field(ge=1, le=3600)] = Field(
        default=60,
        description="Most seconds of processor time that parsing one document may take; small files may take less, 10 and 10 for each MB.",
    )
    parse_seconds: Annotated[float, Field(ge=1, le=86_400)] = Field(
        default=300.0, description="Seconds by the clock that parsing one document may take."
    )
    max_document_chunks: Annotated[int, Field(ge=1, le=100_000)] = Field(
        default=MAX_DOCUMENT_CHUNKS,
        description="Passages of one document that are ingested; what a longer document has beyond is left out, with a warning.",
    )
    lease_seconds: Annotated[float, Field(ge=1)] = Field(
        default=30.0,
        description="After this long without a heartbeat, a worker's jobs go to another.",
    )

    @field_validator("embedding_url", "chat_url", "rerank_url")
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
        """Return the sources in the order they are asked, after a look at what they hold."""
        if isinstance(init_settings, InitSettingsSource):
            _refuse_unknown(
                cast("dict[str, object]", init_settings.init_kwargs), "Settings", lambda name: name
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
    return [name for name in names if not _OF_OTHERS.fullmatch(name)]


def _setting_name(name: str) -> str:
    return _PREFIX + name.upper()


def _refuse_unknown(names: Iterable[str], where: str, told: Callable[[str], str]) -> None:
    known = Settings.model_fields
    for name in names:
        if name in known or name.startswith("_"):
            continue
        near = get_close_matches(name.lower().removeprefix(_PREFIX.lower()), known, n=1, cutoff=0.5)
        guess = f"; do you mean {told(near[0])}?" if near else ""
        raise Invalid(f"There is no setting {told(name)}, which {where} names{guess}")


def _refuse_distrusted(path: Path) -> None:
    if path.is_file() and (reason := reason_to_distrust(path.stat())):
        raise Invalid(
            f"{path.absolute()} {reason}, who could send your documents elsewhere with it: own it alone"
            " (`chown`, `chmod go-w`), or remove it and set the variables in the environment"
        )


def _is_http_url(value: str) -> bool:
    try:
        parts = urlsplit(value)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
