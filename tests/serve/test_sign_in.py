from dataclasses import replace
from pathlib import Path

import pytest

from sayso.serve.server import ServeSettings
from toy_extraction import write_found
from toy_workbench import Person, open_client


@pytest.mark.parametrize(("with_run", "first"), [(False, "/review/facts"), (True, "/annotate")])
def test_work_begins_with_the_review_list_if_facts_and_no_run_are_open(
    settings: ServeSettings, tmp_path: Path, with_run: bool, first: str
) -> None:
    runs = settings.runs if with_run else ()
    with open_client(replace(settings, runs=runs, facts=(write_found(tmp_path / "facts"),))) as client:
        assert client.get("/").url.path == "/sign-in"
        person = Person(client)
        person.page("/sign-in")
        answer = client.post("/sign-in", data={"form_token": person.token, "name": "Ada"})
        assert answer.url.path == first
        assert client.get("/").url.path == first
