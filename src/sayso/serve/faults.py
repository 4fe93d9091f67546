"""What is wrong with a request, in words for annotators, who see these messages instead of the validation library's."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

_TEXTS = {
    "missing": "missing",
    "extra_forbidden": "unknown key",
    "json_invalid": "not valid JSON",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "finite_number": "not a finite number",
    "int_parsing_size": "the number is too large",
    "string_too_long": "more than {max_length:,} characters",
    "string_unicode": "not valid text (UTF-8)",
    "too_long": "more than {max_length:,} {items}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
}
"""What a type of error means; curly brackets are filled from its context."""
_KINDS = {
    "int": "not a whole number",
    "float": "not a number",
    "decimal": "not a number",
    "bool": "must be true or false",
    "string": "not text",
    "list": "not a list",
    "tuple": "not a list",
    "dict": "not a JSON object",
    "model": "not a JSON object",
    "mapping": "not a JSON object",
    "dataclass": "not a JSON object",
}
"""What an error about the kind of a value means, by the first word of its type."""
_PLACES = ("body", "query", "path", "form", "header", "cookie")
_BY_STATUS = {
    HTTPStatus.NOT_FOUND: "Page not found.",
    HTTPStatus.METHOD_NOT_ALLOWED: "This URL does not accept requests of this kind.",
    HTTPStatus.BAD_REQUEST: "The request cannot be read: its body is incomplete or not in the format it claims.",
}


_TITLES = {
    HTTPStatus.BAD_REQUEST: "Invalid request",
    HTTPStatus.UNAUTHORIZED: "Not signed in",
    HTTPStatus.FORBIDDEN: "Not allowed",
    HTTPStatus.NOT_FOUND: "Not found",
    HTTPStatus.CONFLICT: "Changed in the meantime",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "Too large",
    HTTPStatus.UNPROCESSABLE_ENTITY: "Invalid request",
    HTTPStatus.SERVICE_UNAVAILABLE: "Busy",
    HTTPStatus.INSUFFICIENT_STORAGE: "Disk full",
}


def status_title(status: HTTPStatus) -> str:
    """Return the title of an error page.

    >>> status_title(HTTPStatus.UNPROCESSABLE_ENTITY), status_title(HTTPStatus.INTERNAL_SERVER_ERROR)
    ('Invalid request', 'Error')
    """
    return _TITLES.get(status, "Error")


def status_text(status: HTTPStatus) -> str:
    """Return the message for an error that the web framework raised.

    >>> status_text(HTTPStatus.NOT_FOUND)
    'Page not found.'
    """
    return _BY_STATUS.get(status, f"The request cannot be handled ({status.value}).")


def fault_text(error: Mapping[str, Any], titles: Mapping[str, str] | None = None) -> str:
    """Return where a request is invalid, and why; `titles` are what the page calls its fields.

    >>> fault_text({"type": "too_long", "loc": ("body", "sentences"), "ctx": {"max_length": 64}})
    'sentences: more than 64 sentences'
    >>> fault_text({"type": "int_parsing", "loc": ("query", "page"), "input": "x"})
    'page: not a whole number'
    """
    where = [part for part in error["loc"] if isinstance(part, str | int)]
    if len(where) > 1 and where[0] in _PLACES:
        where = where[1:]
    field = str(where[0]) if where else ""
    path = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in where)
    if error["type"] == "json_invalid":
        path = ".body"
    path = path.removeprefix(".")
    if titles and field in titles:
        path = titles[field] + path.removeprefix(field)
    return f"{path}: {_reason(error, where)}".removeprefix(": ")


def _reason(error: Mapping[str, Any], where: Sequence[str | int]) -> str:
    """Return why a value is invalid."""
    kind, context = str(error["type"]), dict(error.get("ctx", {}))
    if kind in ("value_error", "assertion_error"):
        # Raised by our own validators, so these are our words.
        return str(context.get("error") or "invalid")
    if kind in ("string_too_short", "too_short"):
        least = context["min_length"]
        what = _items(where) if kind == "too_short" else "characters"
        return "empty" if least == 1 else f"fewer than {least:,} {what}"
    if kind in _TEXTS:
        return _TEXTS[kind].format(**context, items=_items(where))
    return _KINDS.get(kind.partition("_")[0], "invalid")


def _items(where: Sequence[str | int]) -> str:
    """Return what a list contains: its name, if that is a plural."""
    name = str(where[-1]) if where else ""
    return name if name.isalpha() and name.endswith("s") else "items"
