"""Vectors in a Milvus server."""

from lightwell.stores.milvus import fork_handlers as fork_handlers
