"""A small store with known answers, a workbench for it, and a signed-in user."""

import json
import re
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from sayso.serve.app import make_app
from sayso.serve.server import ServeSettings
from sayso.store.inputs import Inputs, PrepareSettings
from sayso.store.prepare import prepare
from sayso.store.store import Store
from toy_predictions import documented, hostile_lines, make_run_folder

RELATIONS = """\
name\tdefinition\texample\tfunctional
capital\tThe tail is the seat of government of the head.\tOslo is the capital of Norway.\ttrue
contains\tThe tail lies in the head.\t\tfalse
"""
NUM_PAIRS = 6
STATED, NOT_STATED = "{t} is the capital of {h} .", ("{h} beat {t} in the final .", "he left {h} for {t} .")


def fact_lines(pair: int, relation: str = "capital", texts: tuple[str, ...] = (STATED, *NOT_STATED)) -> list[str]:
    """Return a bag in NRE format; the first sentence states the fact."""
    head, tail = f"north_land{pair}", f"port_town{pair}"
    return [
        "\t".join((f"l{pair}", f"t{pair}", head, tail, relation, text.format(h=head, t=tail), "###END###"))
        for text in texts
    ]


def big_bag(num: int) -> list[str]:
    """Return a bag of many sentences."""
    return fact_lines(90, "contains", tuple(f"on day {i} , {{h}} spoke of {{t}} ." for i in range(num)))


def make_store(folder: Path, extra: list[str] | None = None) -> Store:
    """Return a store of capitals (the first is also labelled `contains`), with known answers for `capital`."""
    test = [line for pair in range(NUM_PAIRS) for line in fact_lines(pair)] + fact_lines(0, "contains")
    train = [line for pair in range(50, 60) for line in fact_lines(pair)] + fact_lines(60, "contains")
    (folder / "train.txt").write_text("\n".join(train) + "\n")
    (folder / "test.txt").write_text("\n".join(documented([*test, *(extra or [])])) + "\n")
    (folder / "relations.tsv").write_text(RELATIONS)
    (folder / "known.jsonl").write_text("".join(f"{line}\n" for pair in range(NUM_PAIRS) for line in _answers(pair)))
    inputs = Inputs(
        train=folder / "train.txt",
        test=folder / "test.txt",
        relations=folder / "relations.tsv",
        marks=(folder / "known.jsonl",),
    )
    prepare(inputs, PrepareSettings(validation_share=0.3, max_tokens=20_000), folder / "store", lambda *_: None)
    return Store(folder / "store")


def _answers(pair: int) -> list[str]:
    rows = [line.split("\t") for line in fact_lines(pair)]
    return [
        json.dumps(
            {"head": row[0], "tail": row[1], "relation": "capital", "sentence": row[5]}
            | {"label": "irrelevant" if place else "rationale"}
        )
        for place, row in enumerate(rows)
    ]


def make_settings(folder: Path, with_run: bool = True, extra: list[str] | None = None, **other: Any) -> ServeSettings:
    """Return the settings of a workbench for the small store, which contains a hostile bag."""
    store = make_store(folder, extra if extra is not None else hostile_lines())
    runs = (make_run_folder(folder / "run", store),) if with_run else ()
    return ServeSettings(data=store.folder, database=folder / "marks.db", runs=runs, **other)


class Person:
    """An HTTP client that keeps its cookie and sends the form token of its last page."""

    def __init__(self, client: TestClient, name: str | None = None) -> None:
        self.client = client
        self.token = ""
        if name is not None:
            self.page("/sign-in")
            self.post_form("/sign-in", name=name)

    def page(self, address: str, headers: dict[str, str] | None = None, /, **parameters: object) -> str:
        """Return a page, which must exist."""
        answer = self.client.get(address, params=parameters or None, headers=headers)
        assert answer.status_code == 200, answer.text
        self.token = re.search(r'name="form-token" content="(\w*)"', answer.text)[1]
        return answer.text

    def post_form(self, address: str, **fields: object) -> str:
        """Send a form and return the resulting page."""
        answer = self.client.post(address, data={"form_token": self.token, **fields})
        assert answer.status_code == 200, answer.text
        self.token = re.search(r'name="form-token" content="(\w*)"', answer.text)[1]
        return answer.text

    def ask(self, method: str, address: str, status: int = 200, **body: object) -> Any:
        """Send JSON and return the response."""
        headers = {"X-Form-Token": self.token}
        answer = self.client.request(method, f"/api{address}", json=body or None, headers=headers)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    def mark(self, bag: int, relation: str, *labels: str, key: str = "") -> Any:
        """Label the first sentences of a fact."""
        marks = [{"sentence": place, "label": label} for place, label in enumerate(labels)]
        key = key or f"mark-{bag}-{relation}-{'-'.join(labels)}"
        return self.ask("POST", "/annotate/marks", bag=bag, relation=relation, key=key, marks=marks)

    def submit(self, bag: int, relation: str, status: int = 200) -> Any:
        """Submit a fact."""
        return self.ask("POST", "/annotate/submit", status, bag=bag, relation=relation, key=f"submit-{bag}-{relation}")


def open_client(settings: ServeSettings) -> TestClient:
    """Return a client on the workbench's own host."""
    return TestClient(make_app(settings), base_url=settings.url, raise_server_exceptions=False)
