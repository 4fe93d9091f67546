"""The page that documents the JSON API, generated from its OpenAPI description."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from sayso.serve.render import Render

router = APIRouter(include_in_schema=False)


@router.get("/api")
def api_page(request: Request, render: Render) -> Response:
    """List every route with its parameters, request and response."""
    description = request.app.openapi()
    operations = [
        {"method": method.upper(), "path": path, **_shown(operation)}
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]
    return render("api.html", operations=operations, schemas=description["components"]["schemas"])


@router.get("/api/openapi.json")
def openapi(request: Request) -> dict[str, Any]:
    """Return the OpenAPI description."""
    description: dict[str, Any] = request.app.openapi()
    return description


def _shown(operation: dict[str, Any]) -> dict[str, Any]:
    body = operation.get("requestBody", {}).get("content", {})
    answers = [
        name
        for status, answer in operation["responses"].items()
        if status.startswith("2")
        for content in answer.get("content", {}).values()
        for name in [_schema_name(content.get("schema", {}))]
    ]
    return {
        "about": operation.get("description", ""),
        "parameters": operation.get("parameters", []),
        "takes": [_schema_name(content["schema"]) for content in body.values()],
        "gives": answers,
    }


def _schema_name(schema: dict[str, Any]) -> str:
    """Return the name of a schema, or its type if it has none."""
    for part in (schema, schema.get("items", {}), *schema.get("anyOf", [])):
        if "$ref" in part:
            name = str(part["$ref"]).rsplit("/", 1)[1]
            return f"list of {name}" if part is schema.get("items") else name
    return str(schema.get("type", ""))
