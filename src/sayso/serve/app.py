"""The application: what is open, what stands before every request, and the list of routers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI
from starlette.staticfiles import StaticFiles

from sayso import __version__
from sayso.serve.access import Access
from sayso.serve.errors import ErrorAnswer, add_handlers
from sayso.serve.render import STATIC
from sayso.serve.routers import ROUTERS
from sayso.serve.security import Gate, refuse_changed, refuse_forged, refuse_strangers
from sayso.serve.settings import ServeSettings
from sayso.serve.state import Workbench


def make_app(settings: ServeSettings) -> FastAPI:
    """Return the application over an opened workbench; what cannot be opened is a `UserError` here, not on a page."""
    workbench = Workbench(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        workbench.close()

    app = FastAPI(
        title="sayso",
        version=__version__,
        summary="Facts, the sentences that their predictions rest on, and what people say about them.",
        dependencies=[Depends(refuse_strangers), Depends(refuse_forged), Depends(refuse_changed)],
        responses={"default": {"model": ErrorAnswer, "description": "What went wrong, in the one form."}},
        lifespan=lifespan,
        # The pages that come with FastAPI load scripts from elsewhere; ours are at /api.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
    )
    app.state.workbench = workbench
    app.state.access = Access(workbench.database, settings)
    app.add_middleware(Gate, settings=settings)
    add_handlers(app)
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return app
