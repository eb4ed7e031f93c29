"""The settings of embedding models, as fields of `Settings`, which reads them."""

from typing import Annotated

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings


class EmbeddingSettings(BaseSettings):
    """Which model embeds documents and questions, and the one that a project may be changed to."""

    embedding_url: str | None = Field(
        default=None,
        description="URL of an OpenAI-compatible endpoint for embeddings, such as http://localhost:11434/v1. Without it, the bundled model is used, which is made for English.",
    )
    embedding_api_key: SecretStr = Field(
        default=SecretStr("none"), description="API key of the embedding endpoint."
    )
    embedding_model: str = Field(
        default="", description="Name of the embedding model at its endpoint."
    )
    embedding_dimension: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description="Dimension of embeddings to request from the endpoint; 0 uses the model's own.",
    )
    embedding_batch_size: Annotated[int, Field(ge=1, le=2048)] = Field(
        default=32,
        description="Number of texts in one request to the embedding endpoint, or in one batch of the bundled model.",
    )
    embedding_matryoshka: bool = Field(
        default=False,
        description="Whether the model's vectors may be cut to LIGHTWELL_EMBEDDING_DIMENSION here (Matryoshka), as those of Qwen3-Embedding. Without it, the endpoint is asked for that dimension.",
    )
    embedding_instruction: str = Field(
        default="",
        description="What the model is told to do with a question, such as `Given a question, retrieve passages that answer it`; it gets `Instruct: ...` and `Query: ...`, as Qwen3-Embedding and E5-instruct expect. Documents are embedded without it.",
    )
    embedding_price: Annotated[float, Field(ge=0)] | None = Field(
        default=None,
        description="Price of a million tokens at the embedding endpoint, for estimates.",
    )
    next_embedding_url: str | None = Field(
        default=None,
        description="URL of the endpoint of another embedding model, to which `lightwell embeddings change` changes a project.",
    )
    next_embedding_api_key: SecretStr = Field(
        default=SecretStr("none"), description="API key of that endpoint."
    )
    next_embedding_model: str = Field(default="", description="Name of that model at its endpoint.")
    next_embedding_dimension: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description="Dimension of that model's vectors; it must be given, because a process that starts while the endpoint is down must know it.",
    )
    next_embedding_matryoshka: bool = Field(
        default=False, description="As LIGHTWELL_EMBEDDING_MATRYOSHKA, for that model."
    )
    next_embedding_instruction: str = Field(
        default="", description="As LIGHTWELL_EMBEDDING_INSTRUCTION, for that model."
    )
    next_embedding_price: Annotated[float, Field(ge=0)] | None = Field(
        default=None, description="Price of a million tokens at that endpoint, for estimates."
    )
    embedding_grace_hours: Annotated[float, Field(ge=0, le=8760)] = Field(
        default=24.0,
        description="Hours for which the vectors of the old model are kept after a change, so that changing back is quick. Then a worker drops them.",
    )
