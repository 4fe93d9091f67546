"""The application: the open workbench, the checks on every request, and the routers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, Depends, FastAPI
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.staticfiles import StaticFiles

from sayso import __version__
from sayso.serve import agreement, api_page, decisions, sign_in
from sayso.serve.access import Access
from sayso.serve.annotate import api as annotate_api
from sayso.serve.annotate import pages as annotate_pages
from sayso.serve.annotate import queue
from sayso.serve.errors import HANDLERS, ErrorResponse
from sayso.serve.predictions import api as predictions_api
from sayso.serve.predictions import pages as predictions_pages
from sayso.serve.render import STATIC
from sayso.serve.review import pages as review
from sayso.serve.security import SafetyMiddleware, refuse_changed, refuse_csrf, require_session
from sayso.serve.settings import ServeSettings
from sayso.serve.try_it import pages as try_it
from sayso.serve.workbench import Workbench

ROUTERS: tuple[APIRouter, ...] = (
    sign_in.router,
    annotate_pages.router,
    queue.pages,
    agreement.pages,
    api_page.router,
    predictions_pages.router,
    review.pages,
    try_it.pages,
    decisions.pages,
    annotate_api.router,
    queue.api,
    agreement.api,
    agreement.exports,
    predictions_api.router,
    review.api,
    try_it.api,
    decisions.api,
)


def make_app(settings: ServeSettings) -> FastAPI:
    """Return the application with an open workbench; raise `UserError` if something cannot be opened."""
    workbench = Workbench(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        workbench.close()

    app = FastAPI(
        title="sayso",
        version=__version__,
        summary="Facts, the sentences that predictions rest on, and annotators' marks and decisions.",
        dependencies=[Depends(require_session), Depends(refuse_csrf), Depends(refuse_changed)],
        responses={"default": {"model": ErrorResponse, "description": "The error."}},
        exception_handlers=HANDLERS,
        lifespan=lifespan,
        # FastAPI's own pages load scripts from other sites; ours are at /api.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
    )
    app.state.workbench = workbench
    app.state.access = Access(workbench.database, settings)
    if settings.is_local:
        # A foreign host name that resolves to this machine would let a foreign page read ours (DNS rebinding).
        hosts = ["127.0.0.1", "localhost", "[::1]", settings.bracketed_host]
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)
    app.add_middleware(SafetyMiddleware, max_body=settings.max_body)
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return app
