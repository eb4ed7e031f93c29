"""The API of a LightRAG server, version 1.5.7, so that its WebUI and its clients work here unchanged.

Everything is read and written as the caller may. What LightRAG has and this server has not is refused in a form that its WebUI shows.
"""

from fastapi import APIRouter

from lightwell.entrypoints.http import (
    lightrag_documents,
    lightrag_edits,
    lightrag_graphs,
    lightrag_queries,
    lightrag_sign_in,
)

router = APIRouter()
for _part in (
    lightrag_sign_in,
    lightrag_documents,
    lightrag_graphs,
    lightrag_edits,
    lightrag_queries,
):
    router.include_router(_part.router)
