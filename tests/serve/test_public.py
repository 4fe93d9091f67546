"""The public JSON API: its form, its examples, and who may use it."""

import json
import os
import re
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

from browser.visit import serving
from sayso.annotate.store import AnnotationDatabase
from sayso.serve.server import ServeSettings, make_links, open_socket
from script import ROOT
from toy_extraction import FACTS, HOSTILE_FACT, NEW, ids, write_found
from toy_workbench import Person, open_client

RECORDED = ROOT / "tests" / "golden" / "api_v1.json"


@pytest.fixture
def settings(shelf: ServeSettings, tmp_path: Path) -> ServeSettings:
    facts = (write_found(tmp_path / "news"),)
    return replace(shelf, database=tmp_path / "marks.db", facts=facts, leads=("Ada",))


def fields_of(schema: dict[str, Any], schemas: dict[str, Any], depth: int = 6) -> Any:
    """Return the names in a JSON schema, without its descriptions."""
    if "$ref" in schema:
        return fields_of(schemas[schema["$ref"].rsplit("/", 1)[1]], schemas, depth)
    if choices := schema.get("anyOf"):
        return [fields_of(each, schemas, depth) for each in choices]
    if "properties" in schema and depth:
        return {name: fields_of(each, schemas, depth - 1) for name, each in sorted(schema["properties"].items())}
    if "items" in schema:
        return ["list", fields_of(schema["items"], schemas, depth)]
    return schema.get("type", "any")


def form_of(description: dict[str, Any]) -> dict[str, Any]:
    """Return what the routes of the public API take and give."""
    schemas, form = description["components"]["schemas"], {}
    for path, methods in description["paths"].items():
        if not path.startswith("/api/v1/"):
            continue
        assert list(methods) == ["get"], f"{path}: the public API only reads"
        given = methods["get"]["responses"]["200"].get("content", {}).get("application/json", {}).get("schema", {})
        form[path] = {
            "takes": sorted(each["name"] for each in methods["get"].get("parameters", [])),
            "gives": fields_of(given, schemas),
        }
    return form


def missing(recorded: Any, now: Any, where: str = "") -> list[str]:
    """Return what is recorded and is no longer there; what is new does not matter."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        gone = [f"{where}/{name}" for name in recorded if name not in now]
        return gone + [
            each for name in recorded if name in now for each in missing(recorded[name], now[name], f"{where}/{name}")
        ]
    if isinstance(recorded, list) and isinstance(now, list):
        if all(isinstance(each, str) for each in recorded):
            return [f"{where}: {each}" for each in recorded if each not in now]
        pairs = zip(recorded, now, strict=False)
        return [each for one, other in pairs for each in missing(one, other, where)]
    return [] if recorded == now else [f"{where}: {recorded} is now {now}"]


def test_nothing_is_renamed_or_removed(ada: Person) -> None:
    now = form_of(ada.client.get("/api/openapi.json").json())
    recorded = json.loads(RECORDED.read_text())
    assert missing(recorded, now) == []
    assert missing(now, recorded) == [], f"new in the public API: record it in {RECORDED.name}"
    renamed = json.loads(json.dumps(now).replace("head_name", "subject"))
    assert missing(recorded, renamed), "the comparison sees a renamed field"


def run(command: str, **environment: str) -> Any:
    """Return the answer of a shell command; its last line if it is no JSON."""
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command.replace('curl -s', 'curl -sf')}"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        return done.stdout.splitlines()[-1]


def free_port() -> int:
    with open_socket("127.0.0.1", 0) as opened:
        port: int = opened.getsockname()[1]
    return port


def signed_in(url: str, token: str) -> Person:
    """Return a user of a running workbench, who has a link if a token is given."""
    client = httpx.Client(base_url=url, follow_redirects=True)
    ada = Person(client, None if token else "Ada")
    if token:
        ada.page("/enter", {"Sec-Fetch-Site": "none"}, token=token)
    return ada


def token_for(name: str, settings: ServeSettings) -> str:
    with closing(AnnotationDatabase(settings.database)) as database:
        ((_, link),) = make_links(database, settings, [name], is_renewed=False)
    return link.split("token=")[1]


@pytest.mark.parametrize("is_public", [False, True])
def test_the_examples_of_the_page_run(settings: ServeSettings, is_public: bool) -> None:
    port = free_port()
    if is_public:  # without a proxy: requests with the path are answered, too
        settings = replace(settings, public_url=f"http://127.0.0.1:{port}/team")
    with serving(settings, port) as url:
        token = token_for("Ada", settings) if is_public else ""
        ada = signed_in(url, token)
        ada.ask("POST", "/review/news/decisions", **ids(NEW[0]), decision="accepted", key="accept it")
        text = ada.page("/api")
        examples = [unescape(each) for each in re.findall(r'<pre class="example"[^>]*><code>([^<]*)</code>', text)]
        assert all(("Bearer $TOKEN" in each) is is_public and f"'{url}/api/v1/" in each for each in examples)
        new, fact, predictions, decisions, table, marks, every = (run(each, TOKEN=token) for each in examples)
        ada.client.close()
    assert [each["head_id"] for each in new["rows"]] == [each.head_id for each in (*NEW, HOSTILE_FACT)]
    assert fact["head_id"] == max(FACTS, key=lambda each: each.probability).head_id
    assert fact["quotes"][0]["exact"]
    assert predictions["num_found"] > 0
    assert [each["decision"] for each in decisions] == ["accepted"]
    assert NEW[0].head_id in table
    assert marks == every == []


def test_the_examples_of_the_docs_run(settings: ServeSettings) -> None:
    text = (ROOT / "docs" / "workbench-api.md").read_text()
    port = free_port()
    public = replace(settings, public_url=f"http://127.0.0.1:{port}/sayso")
    local, one, two = "http://127.0.0.1:8017", *re.findall(r"```\n(curl[^`]*)```", text)
    (program,) = re.findall(r"```python\n([^`]*)```", text)
    with serving(settings, port) as url:
        ada = signed_in(url, "")
        ada.ask("POST", "/review/news/decisions", **ids(NEW[1]), decision="accepted", key="accept it")
        ada.client.close()
        assert local in program
        for command in one.splitlines():
            assert local in command
            assert run(command.replace(local, url)) is not None
        done = subprocess.run(
            [sys.executable, "-c", program.replace(local, url)], capture_output=True, text=True, check=True
        )
        assert done.stdout == "1 accepted facts\n"
    with serving(public, port) as url:
        assert "https://example.org/sayso" in two
        (decided,) = run(two.replace("https://example.org/sayso", url), TOKEN=token_for("Ada", public))
        assert decided["head_id"] == NEW[1].head_id


def test_marks_are_those_of_complete_facts(ada: Person, ben: Person) -> None:
    for person, labels in ((ada, ("rationale", "irrelevant", "unsure")), (ben, ("rationale",) * 3)):
        assert ada.ask("GET", "/v1/marks") == []
        person.mark(1, "capital", *labels)
        person.submit(1, "capital")
    shown = ada.ask("GET", "/v1/marks")
    assert [set(each) for each in shown] == [{"head", "tail", "relation", "sentence", "label", "by"}] * 3
    assert sorted(each["label"] for each in shown) == ["rationale", "rationale", "unsure"]
    every = ada.ask("GET", "/v1/marks?each=true")
    assert sorted(each["by"] for each in every) == ["Ada"] * 3 + ["Ben"] * 3


def test_facts_with_a_decision_are_listed_unless_filtered_and_a_typing_mistake_is_refused(ada: Person) -> None:
    ada.ask("POST", "/review/news/decisions", **ids(NEW[0]), decision="accepted", key="accept it")
    assert ada.ask("GET", "/v1/facts/news")["num_found"] == len(FACTS)
    assert ada.ask("GET", "/v1/facts/news?decision=accepted")["num_found"] == 1
    assert ada.ask("GET", "/review/news")["num_found"] == len(FACTS) - 1, "the page lists what is left to do"
    for path in ("/v1/facts/news?min_probablity=0.9", "/v1/predictions/run?statu=new"):
        assert "unknown key" in ada.ask("GET", path, 422)["error"]["details"][0]


def test_on_other_machines_a_token_reads_below_v1_only(settings: ServeSettings) -> None:
    remote = replace(settings, host="192.0.2.7")
    with open_client(remote) as client:
        token = token_for("Ada", remote)
        for headers, status in (
            ({}, 401),
            ({"Authorization": "Bearer wrong"}, 401),
            ({"Authorization": f"Basic {token}"}, 401),
            ({"Authorization": f"Bearer {token}"}, 200),
            ({"Authorization": f"bearer  {token}"}, 200),
        ):
            assert client.get("/api/v1/facts", headers=headers).status_code == status
        sent = {"Authorization": f"Bearer {token}"}
        assert client.get("/api/review", headers=sent).status_code == 401
        assert client.get("/annotate", headers=sent).url.path == "/sign-in"
        assert client.put("/api/guideline", headers=sent, json={"text": "new"}).status_code in (401, 403)
        make_links(client.app.state.workbench.database, remote, ["Ada"], is_renewed=True)
        assert client.get("/api/v1/facts", headers=sent).status_code == 401


def test_every_page_links_to_the_api(ada: Person) -> None:
    for path in ("/annotate", "/agreement", "/predictions", "/review", "/try", "/decisions", "/sign-in"):
        assert '<footer class="foot"><a href="/api">' in ada.page(path)
