import pytest

from sayso.serve.predictions.run import RunPredictions
from sayso.serve.predictions.table import PredictionQuery
from toy_predictions import MECHANISMS
from toy_runs import Client


def test_runs_say_what_they_are_about(client: Client) -> None:
    runs = client.get("/api/runs").json()
    assert [run["name"] for run in runs] == ["one", "two"]
    assert runs[0]["model_fingerprint"] == "model0"
    assert runs[0]["mechanisms"] == list(MECHANISMS)


def test_facts_come_in_pages(client: Client, run: RunPredictions) -> None:
    answer = client.get("/api/predictions/one", params={"label": "yes", "sort": "relation"}).json()
    expected = run.index.page(PredictionQuery(label="yes", sort="relation"))
    assert answer["num_found"] == expected.num_found
    assert [row["number"] for row in answer["rows"]] == [row.number for row in expected.rows]


def test_a_fact_has_its_sentences_scores_and_tests(client: Client, run: RunPredictions) -> None:
    fact = run.fact(0)
    answer = client.get("/api/predictions/one/fact", params={"bag": fact["bag"], "relation": fact["relation"]}).json()
    assert len(answer["evidence"]) == fact["num_sentences"]
    assert set(answer["evidence"][0]["scores"]) == set(MECHANISMS)
    assert answer["support"]["text"]
    assert [test["rank"] for test in answer["planted"]] == [None] * len(MECHANISMS)


def test_the_curve_and_the_facts_of_its_points(client: Client) -> None:
    curve = client.get("/api/predictions/one/curve").json()
    rows = client.get("/api/predictions/one/curve/0").json()
    assert len(rows) == curve["points"][0]["stop"]
    assert client.get("/api/predictions/one/curve/999").status_code == 404


def test_a_comparison_has_both_runs(client: Client, run: RunPredictions) -> None:
    fact = run.fact(0)
    asked = {"bag": fact["bag"], "relation": "capital", "left": "one", "right": "two"}
    assert [side["run"] for side in client.get("/api/compare", params=asked).json()] == ["one", "two"]


@pytest.mark.parametrize(
    "address",
    [
        "/api/predictions/three",
        "/api/predictions/one/fact?bag=1",
        "/api/predictions/one?page=0",
        "/api/compare?left=one&right=one&bag=99999&relation=born",
    ],
)
def test_every_error_has_the_one_form(client: Client, address: str) -> None:
    error = client.get(address).json()["error"]
    assert set(error) == {"status", "code", "message", "details"}
    assert error["status"] in (404, 422)
    assert error["message"]
