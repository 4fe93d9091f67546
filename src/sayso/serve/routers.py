"""Everything that can be asked for: the closed list of routers, pages first, then the JSON interface."""

from fastapi import APIRouter

from sayso.serve.api import agree as agree_api
from sayso.serve.api import annotate as annotate_api
from sayso.serve.api import annotations
from sayso.serve.api import project as project_api
from sayso.serve.decisions import api as decisions_api
from sayso.serve.decisions import pages as decisions_pages
from sayso.serve.pages import agree, annotate, api_page, project, sign_in
from sayso.serve.predictions import api as predictions_api
from sayso.serve.predictions import pages as predictions_pages
from sayso.serve.review import api as review_api
from sayso.serve.review import pages as review_pages
from sayso.serve.try_it import api as try_api
from sayso.serve.try_it import pages as try_pages

ROUTERS: tuple[APIRouter, ...] = (
    sign_in.router,
    annotate.router,
    project.router,
    agree.router,
    api_page.router,
    predictions_pages.router,
    review_pages.router,
    try_pages.router,
    decisions_pages.router,
    annotate_api.router,
    project_api.router,
    agree_api.router,
    annotations.router,
    predictions_api.router,
    review_api.router,
    try_api.router,
    decisions_api.router,
)
