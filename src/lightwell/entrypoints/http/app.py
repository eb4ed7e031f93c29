"""The application: its routes, and what a process opens once for all of them."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI

from lightwell.entrypoints.audit_log import AuditLog
from lightwell.entrypoints.http import (
    administration,
    channels,
    chat_webhooks,
    directory,
    exports,
    health,
    invitations,
    job_events,
    mcp,
    metrics,
    oauth_metadata,
    openai_api,
    openai_responses,
    operating,
    originals,
    page,
    page_pictures,
    pushes,
    query_streams,
    sessions,
    uploads,
    webhooks,
)
from lightwell.entrypoints.http.background_worker import work_in_background
from lightwell.entrypoints.http.body_limit import BodyLimit
from lightwell.entrypoints.http.bots import open_bots
from lightwell.entrypoints.http.browsers import guard_browsers
from lightwell.entrypoints.http.compatibility import add_compatible_routes
from lightwell.entrypoints.http.credentials import open_credentials
from lightwell.entrypoints.http.download_folders import open_download_folders
from lightwell.entrypoints.http.forwarded_users import require_forwarding_secret
from lightwell.entrypoints.http.multipart import UploadLimits
from lightwell.entrypoints.http.openapi import Application
from lightwell.entrypoints.http.problems import add_error_handlers
from lightwell.entrypoints.http.projects import projects_on
from lightwell.entrypoints.http.routes import router_of
from lightwell.entrypoints.http.slots import IntakeSlots, StreamSlots
from lightwell.entrypoints.http.spans import open_span_sender
from lightwell.entrypoints.operations import (
    analytics,
    briefs,
    conversations,
    corrections,
    documents,
    embeddings,
    graph,
    jobs,
    links,
    names,
    questions,
    reading,
    searches,
    sources,
)
from lightwell.models.meter import Meter
from lightwell.settings import Settings
from lightwell.wiring import make_intake, open_resources

_ROUTES = (
    health,
    metrics,
    query_streams,
    sessions,
    channels,
    exports,
    openai_api,
    openai_responses,
    directory,
    invitations,
    administration,
    operating,
    oauth_metadata,
    uploads,
    originals,
    page_pictures,
    job_events,
    pushes,
    chat_webhooks,  # before the webhooks of sources, whose path has any id
    webhooks,
)
"""The modules with routes, in the order of the interface's description."""

_FILES_IN_UPLOAD = 4
"""How many files of the largest size one upload may have."""

SUBJECTS = (
    questions.questions,
    searches.searches,
    briefs.briefs,
    conversations.conversations,
    analytics.analytics,
    documents.documents,
    reading.reading,
    graph.graph,
    names.names,
    corrections.corrections,
    links.links,
    embeddings.embeddings,
    jobs.jobs,
    sources.sources,
)
"""The operations that are declared, each of which is a route."""


def create_app(settings: Settings) -> FastAPI:
    """Return the application; it opens the database and the models when it starts, and closes them when it stops.

    With `http.worker` it also ingests, in this process; `lightwell serve` does so in one beside it (`ingestion_process.py`).
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
        meter = Meter(settings.ingestion.token_budget, max_listed=0)
        async with open_resources(settings, meter) as resources:
            app.state.projects = projects_on(resources)
            app.state.readiness = health.ReadinessCheck(resources)
            app.state.operating = operating.Operating(resources)
            app.state.intake = make_intake(settings)
            app.state.intake_slots = IntakeSlots()
            app.state.push_slots = IntakeSlots()
            app.state.stream_slots = StreamSlots()
            app.state.picture_slots = page_pictures.open_slots()
            app.state.upload_limits = UploadLimits(
                request_bytes=_FILES_IN_UPLOAD * settings.ingestion.max_file_bytes,
                file_bytes=settings.ingestion.max_file_bytes,
            )
            async with AsyncExitStack() as stack:
                app.state.span_sender = stack.enter_context(
                    open_span_sender(settings.server.traces_url)
                )
                app.state.download_folders = stack.enter_context(open_download_folders())
                app.state.audit = stack.enter_context(AuditLog(settings.server.audit_log))
                app.state.mcp = await stack.enter_async_context(mcp.open_manager(settings))
                app.state.credentials = await stack.enter_async_context(
                    open_credentials(settings, resources.database)
                )
                app.state.reporter = await stack.enter_async_context(
                    metrics.open_reporter(resources)
                )
                app.state.channels = await stack.enter_async_context(
                    open_bots(
                        settings,
                        app.state.projects,
                        app.state.credentials.limiter,
                        app.state.audit,
                    )
                )
                if settings.http.worker:
                    await stack.enter_async_context(work_in_background(app.state.projects))
                yield

    app = Application(
        title="Lightwell",
        version=version("lightwell"),
        summary="Cited answers, only from what the asking person may see.",
        lifespan=lifespan,
        docs_url=None,  # its page loads scripts of a foreign host; ours is in `page`
        redoc_url=None,
        redirect_slashes=False,  # a redirect would name the host that the caller sent
    )
    app.state.forwarding_secret = require_forwarding_secret(
        settings.http.forwarding_secret.get_secret_value()
    )
    app.state.public_url = settings.server.public_url.rstrip("/")
    add_error_handlers(app)
    app.add_middleware(BodyLimit)
    guard_browsers(app, settings)
    for module in _ROUTES:
        app.include_router(module.router)
    for subject in SUBJECTS:
        app.include_router(router_of(subject))
    add_compatible_routes(app, settings)
    app.router.routes.append(mcp.make_route())
    app.router.routes.extend(page.make_routes())
    return app
