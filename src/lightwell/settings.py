"""The one place that reads the environment: every setting, prefix LIGHTWELL_."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """All settings; each has a default that works on a laptop without a key."""

    model_config = SettingsConfigDict(
        env_prefix="LIGHTWELL_", env_file=".env", env_ignore_empty=True, extra="ignore", frozen=True
    )

    data: Path = Field(
        default=Path(".lightwell"),
        description="Where the embedded PostgreSQL keeps its data and logs.",
    )
    database_url: SecretStr | None = Field(
        default=None,
        description="A PostgreSQL 16 or newer with pgvector, instead of the embedded one: postgresql://user:password@host/name.",
    )
    tenant: str = Field(default="default", description="The tenant that the project belongs to.")
    project: str = Field(default="default", description="The project; nothing crosses a project.")

    embedding_url: str | None = Field(
        default=None,
        description="An OpenAI-compatible endpoint for embeddings, such as http://localhost:11434/v1; without it the bundled model is used.",
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
        default=32, description="Texts per embedding request."
    )

    chat_url: str | None = Field(
        default=None,
        description="An OpenAI-compatible chat endpoint that writes the answers; without it they are extracts.",
    )
    chat_api_key: SecretStr = Field(
        default=SecretStr("none"), description="The key of the chat endpoint."
    )
    chat_model: str = Field(default="", description="The chat model's name at its endpoint.")

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

    context_max_tokens: Annotated[int, Field(ge=500)] = Field(
        default=4000, description="Tokens of evidence that a chat model is shown."
    )
    most_file_bytes: Annotated[int, Field(ge=1)] = Field(
        default=50_000_000, description="Files above this size are refused, with a reason."
    )
    lease_seconds: Annotated[float, Field(ge=1)] = Field(
        default=30.0,
        description="After this long without a heartbeat, a worker's jobs go to another.",
    )
