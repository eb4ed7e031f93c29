"""The settings of the stores for vectors and graph, as fields of `Settings`, which reads them."""

from typing import Annotated, Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings


class StoreSettings(BaseSettings):
    """Where vectors are kept and searched. PostgreSQL is the system of record in any case."""

    database_connections: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=10,
        description="Most connections to PostgreSQL that one process keeps. An export uses one more while it runs.",
    )
    vector_store: Literal["postgres", "milvus"] = Field(
        default="postgres",
        description="Where vectors of passages, entities and relations are searched: `postgres` (pgvector), or `milvus`, a server of its own (docs/stores.md).",
    )
    milvus_url: str = Field(
        default="http://127.0.0.1:19530", description="Address of the Milvus server."
    )
    milvus_token: SecretStr = Field(
        default=SecretStr(""),
        description="Token of the Milvus server, `user:password` or an API key. Without it, none is sent.",
    )
    milvus_timeout_seconds: Annotated[float, Field(ge=1, le=600)] = Field(
        default=30.0,
        description="How long one call of Milvus may take, in seconds. After a restart its first answer takes some time.",
    )
    graph_store: Literal["postgres", "neo4j", "age"] = Field(
        default="postgres",
        description="Where questions search the graph: `postgres` (the tables of record), or a copy in `neo4j` or `age` (Apache AGE) that workers keep up to date.",
    )
    neo4j_url: str = Field(
        default="bolt://127.0.0.1:7687",
        description="URL of the Neo4j server, 5.26 or newer: bolt:// for one server, neo4j:// for a cluster, neo4j+s:// with TLS.",
    )
    neo4j_user: str = Field(default="neo4j", description="The user who signs in to Neo4j.")
    neo4j_password: SecretStr | None = Field(
        default=None, description="The password of that user. Whoever has it reads the whole graph."
    )
    age_url: SecretStr | None = Field(
        default=None,
        description="URL of the PostgreSQL database with Apache AGE, `postgresql://user:password@host:5432/database`. Whoever has it reads the whole graph.",
    )
    graph_timeout_seconds: Annotated[float, Field(gt=0, le=60)] = Field(
        default=5.0,
        description="Longest time, in seconds, that one search waits for the graph store. After that the answer comes without the graph, and has a note.",
    )
