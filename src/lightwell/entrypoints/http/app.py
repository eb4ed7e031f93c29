"""The application: its routes, and what a process opens once for all of them."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from uuid import uuid4

from fastapi import FastAPI, Request, Response

from lightwell.entrypoints.http import health, openai_api, questions
from lightwell.entrypoints.http.openapi import Application
from lightwell.entrypoints.http.problems import add_error_handlers
from lightwell.entrypoints.http.projects import Projects
from lightwell.knowledge_base.api_keys import ApiKeys
from lightwell.settings import Settings
from lightwell.wiring import open_project, open_resources


def create_app(settings: Settings) -> FastAPI:
    """Return the application; it opens the database and the models when it starts, and closes them when it stops."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
        async with open_resources(settings) as resources:
            app.state.projects = Projects(
                keys=ApiKeys(database=resources.database, tenant=settings.tenant),
                open_by_name=partial(open_project, resources),
            )
            yield

    app = Application(
        title="Lightwell",
        version=version("lightwell"),
        summary="Cited answers, only from what the asking person may see.",
        lifespan=lifespan,
    )
    app.middleware("http")(_identify_request)
    add_error_handlers(app)
    app.include_router(health.router)
    app.include_router(questions.router)
    app.include_router(openai_api.router)
    return app


async def _identify_request(
    request: Request, call_next: Callable[[Request], Awaitable[Response]]
) -> Response:
    """Give the request an id, which errors and the log name."""
    request.state.request_id = uuid4().hex
    response = await call_next(request)
    response.headers["X-Request-Id"] = request.state.request_id
    return response
