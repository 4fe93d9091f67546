"""No route answers in the words of the web framework or of its validation library."""

import json
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from pydantic_core._pydantic_core import list_all_errors

from sayso.serve.app import ROUTERS
from sayso.serve.faults import fault_text
from toy_workbench import Person

PHRASES = sorted(
    {
        piece.strip().lower()
        for each in list_all_errors()
        for piece in re.split(r"\{\w+\}", each["message_template_python"])
        if len(piece.strip()) > 12 and " " in piece.strip()
    }
    | {"input should be", "should have at", "valid integer", "value error", "pydantic", "method not allowed"}
)
VALUES: list[Any] = [
    *("", "x", "-1", "1e999", "nan", "true", "a" * 6_000, "0", "capital", "run", "9" * 400),
    *(None, True, -1, 0, 7.5, 10**30, [], {}, [{}], ["x"] * 70, [{"sentence": -1, "label": "?"}], {"bag": "x"}),
]


def in_our_words(text: str) -> list[str]:
    """Return the phrases of the libraries that a response contains."""
    return [phrase for phrase in PHRASES if phrase in text.lower()]


def routes() -> list[tuple[str, str, list[str], list[str]]]:
    """Return every route's method and path, and the names in its query and in its body."""
    routers = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    return [
        (min(route.methods), route.path, *(list(names_of(route.dependant, kind)) for kind in ("query", "body")))
        for route in routers
    ]


def names_of(dependant: Dependant, kind: str) -> Iterator[str]:
    """Yield the names of parameters, also of those that a dependency declares; those of its fields for a model."""
    for field in getattr(dependant, f"{kind}_params"):
        yield from getattr(field.field_info.annotation, "model_fields", None) or [field.alias]
    for each in dependant.dependencies:
        yield from names_of(each, kind)


@pytest.mark.parametrize("seed", range(12))
def test_no_route_speaks_in_the_words_of_a_library(ada: Person, seed: int) -> None:
    rng = random.Random(seed)
    found, num_refused = [], 0
    for method, path, asked, sent in routes():
        path = re.sub(r"\{\w+(:\w+)?\}", lambda _: str(rng.choice(["run", "0", "x", "-1", "9" * 30])), path)
        query = {name: rng.choice([str(each) for each in VALUES]) for name in asked if rng.random() < 0.8}
        body = {name: rng.choice(VALUES) for name in sent if rng.random() < 0.8}
        for more in bodies(body, rng) if method != "GET" else [{}]:
            if path == "/sign-out":
                continue
            headers = {"X-Form-Token": ada.token, **more.pop("headers", {})}
            answer = ada.client.request(method, path, params=query, headers=headers, follow_redirects=False, **more)
            num_refused += answer.status_code == 422
            assert answer.status_code != 500, (method, path, query, body)
            found += [(method, path, each) for each in in_our_words(answer.text)]
    assert found == []
    assert num_refused > 10


def test_the_routes_are_all_there_with_their_names() -> None:
    names = {(method, path): (asked, sent) for method, path, asked, sent in routes()}
    assert len(names) > 45
    assert "min_faithfulness" in names["GET", "/predictions/{run}"][0]
    assert "bag" in names["GET", "/annotate/fact"][0]
    assert {"heads", "threshold"} <= set(names["POST", "/api/try/{run}"][1])
    assert {"num_pilot", "is_confirmed"} <= set(names["POST", "/annotate/queue"][1])


def bodies(body: dict[str, Any], rng: random.Random) -> list[dict[str, Any]]:
    """Return a body as JSON, as a form, and in shapes that are neither."""
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in body.items()}
    odd = rng.choice([b"", b"[]", b"3", b'"x"', b'{"bag": ', b"\xff\xfe", b"null", b'{"unheard": 1}'])
    kind = rng.choice(["application/json", "multipart/form-data", "text/plain", "application/x-www-form-urlencoded"])
    return [
        {"json": body},
        {"data": texts},
        {"content": odd, "headers": {"Content-Type": "application/json"}},
        {"content": odd, "headers": {"Content-Type": kind}},
    ]


def test_methods_that_a_page_does_not_have_are_refused_in_our_words(ada: Person) -> None:
    for path in ("/annotate/queue", "/api/queue", "/decisions"):
        assert in_our_words(ada.client.delete(path, headers={"X-Form-Token": ada.token}).text) == []


@pytest.mark.parametrize("kind", [each["type"] for each in list_all_errors()])
def test_every_type_of_error_has_our_words(kind: str) -> None:
    (each,) = (each for each in list_all_errors() if each["type"] == kind)
    context = dict(each.get("example_context") or {})
    text = fault_text({"type": kind, "loc": ("body", "key"), "ctx": context})
    assert text.startswith(("key: ", "body: "))
    assert in_our_words(text) == []


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_where_a_list_is_wrong_is_counted_from_one(value: object) -> None:
    try:
        TypeAdapter(list[list[int]]).validate_python([[1], value])
    except ValidationError as error:
        for each in error.errors():
            assert re.match(r"\[2\](\[\d+\])*: (not a|the number)", fault_text(each)), each
