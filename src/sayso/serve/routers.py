"""Everything that can be asked for: the closed list of routers, pages first, then the JSON interface."""

from fastapi import APIRouter

from sayso.serve.api import agree as agree_api
from sayso.serve.api import annotate as annotate_api
from sayso.serve.api import annotations
from sayso.serve.api import project as project_api
from sayso.serve.curate import api as curate_api
from sayso.serve.curate import pages as curate_pages
from sayso.serve.explore import api as explore_api
from sayso.serve.explore import pages as explore_pages
from sayso.serve.found import api as found_api
from sayso.serve.found import pages as found_pages
from sayso.serve.pages import agree, annotate, api_page, project, sign_in
from sayso.serve.try_it import api as try_api
from sayso.serve.try_it import pages as try_pages

ROUTERS: tuple[APIRouter, ...] = (
    sign_in.router,
    annotate.router,
    project.router,
    agree.router,
    api_page.router,
    explore_pages.router,
    found_pages.router,
    try_pages.router,
    curate_pages.router,
    annotate_api.router,
    project_api.router,
    agree_api.router,
    annotations.router,
    explore_api.router,
    found_api.router,
    try_api.router,
    curate_api.router,
)
