import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from resealed import rewrite
from sayso.serve.fact_view import compare
from sayso.serve.predictions.run import RunPredictions, differences
from sayso.serve.predictions.table import DifferenceQuery, PredictionQuery
from sayso.serve.server import ServeSettings
from toy_predictions import HOSTILE
from toy_runs import Client, make_toy_settings
from toy_workbench import open_client


@pytest.fixture(scope="module")
def hostile(run: RunPredictions) -> str:
    (row,) = run.index.rows(run.index.find_all(PredictionQuery(q="<i>land</i>", relation="capital")))
    return f"bag={row.bag}&relation=capital"


def test_the_first_page_leads_to_the_first_run(client: Client) -> None:
    assert client.get("/predictions").url.path == "/predictions/one"


@pytest.mark.parametrize(("part", "option"), [("test", ""), ("train", " --part train")])
def test_without_a_run_the_page_gives_commands_for_the_store_and_part_that_are_open(
    settings: ServeSettings, tmp_path: Path, part: str, option: str
) -> None:
    with open_client(replace(settings, runs=(), part=part, database=tmp_path / "marks.db")) as client:
        page = client.get("/predictions").text
    assert f"sayso evaluate RUN --data {settings.data}{option}\n" in page
    assert f"sayso serve --data {settings.data} --run RUN{option}<" in page


def test_the_table_lists_what_the_index_finds(client: Client, run: RunPredictions) -> None:
    page = client.get("/predictions/one", params={"label": "no", "sort": "head", "order": "up"}).text
    rows = run.index.page(PredictionQuery(label="no", sort="head", order="up"))
    listed = re.findall(r'class="open" href="[^"]*bag=(\d+)&amp;relation=(\w+)', page)
    assert listed == [(str(row.bag), row.relation) for row in rows.rows]
    assert f"of {rows.num_found} facts" in page


def test_no_text_of_the_corpus_becomes_markup(client: Client, hostile: str) -> None:
    for address in (
        "/predictions/one?q=land%3C",
        f"/predictions/one/fact?{hostile}",
        f"/compare?left=one&right=two&{hostile}",
    ):
        page = client.get(address)
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "<b>port" not in page.text
        assert "<i>land" not in page.text
    assert HOSTILE["long"].split()[0] in page.text
    assert "<i>land</i>" in unescape(page.text)


def test_sentences_are_shown_as_their_documents_write_them(client: Client, run: RunPredictions) -> None:
    row = run.index.rows(run.index.find_all(PredictionQuery(relation="capital", q="town18", label="yes")))[0]
    page = client.get("/predictions/one/fact", params={"bag": row.bag, "relation": row.relation, "view": "both"}).text
    assert '<mark class="head" dir="auto">north land18</mark>.</p>' in page.replace("\n", "")
    assert "news/" in page
    answer = client.get("/api/predictions/one/fact", params={"bag": row.bag, "relation": row.relation}).json()
    for each in answer["evidence"]:
        assert each["text"] == " ".join(each["tokens"])
        assert {each["tokens"][number] for number in each["source"]["glued"]} in ({"."}, {","}, {",", "."})
        assert each["source"]["curly"] == []


def test_a_fact_leads_to_its_neighbours_in_the_table(client: Client, run: RunPredictions) -> None:
    query = PredictionQuery(label="no", sort="head", order="up")
    rows = run.index.page(query).rows
    page = client.get(
        "/predictions/one/fact", params={"bag": rows[1].bag, "relation": rows[1].relation, "within": query.link()}
    ).text
    assert f"bag={rows[0].bag}&amp;relation={rows[0].relation}" in page
    assert f"bag={rows[2].bag}&amp;relation={rows[2].relation}" in page
    assert f"2 of {run.index.page(query).num_found}" in page


def test_a_fact_found_nowhere_in_the_table_is_shown_all_the_same(client: Client, hostile: str) -> None:
    assert client.get(f"/predictions/one/fact?{hostile}&within=relation%3Dborn").status_code == 200
    assert client.get(f"/predictions/one/fact?{hostile}&within=page%3D-7").status_code == 200


@pytest.mark.parametrize(("view", "read", "seen"), [("read", True, False), ("seen", False, True), ("both", True, True)])
def test_the_view_shows_what_people_read_or_what_the_model_saw(
    client: Client, run: RunPredictions, view: str, read: bool, seen: bool
) -> None:
    row = run.index.rows(run.index.find_all(PredictionQuery(relation="capital", q="town18", label="yes")))[0]
    page = client.get("/predictions/one/fact", params={"bag": row.bag, "relation": row.relation, "view": view}).text
    assert ('<mark class="tail" dir="auto">port town18</mark> is the capital' in page) == read
    assert ("/tail" in page.split("evidence-list")[1]) == seen


def test_runs_that_share_no_mechanism_are_compared_each_by_its_own(tmp_path: Path) -> None:
    settings = make_toy_settings(tmp_path)
    for run, name in zip(settings.runs, ("shapley", "attention"), strict=True):
        rewrite(run / "predictions" / "manifest.json", mechanisms=[name], ranked_by=name)
    answer = Client(settings).get("/compare", params={"left": "one", "right": "two", "bag": 0, "relation": "capital"})
    assert answer.status_code == 200
    assert "ranked by shapley" in answer.text
    assert "ranked by attention" in answer.text


def test_a_point_of_the_curve_lists_its_facts(client: Client) -> None:
    page = client.get("/predictions/one/curve", params={"point": 0}).text
    assert 'aria-current="true"' in page
    assert "facts at recall" in page
    assert page.count('class="open"') >= 1


@pytest.mark.parametrize(
    "address",
    [
        "/predictions/three",
        "/predictions/one/fact?bag=99999&relation=capital",
        "/compare?left=one&right=three&bag=0&relation=born",
    ],
)
def test_unknown_runs_and_facts_return_a_page(client: Client, address: str) -> None:
    page = client.get(address)
    assert page.status_code == 404
    assert "Not found" in page.text


def test_an_invalid_query_is_refused(client: Client) -> None:
    assert client.get("/predictions/one?min_probability=many").status_code == 422
    assert client.get("/predictions/one?sort=colour").status_code == 422


def test_each_sentence_has_both_sides(runs: list[RunPredictions]) -> None:
    one, two = runs
    bag, relation = one.fact(0)["bag"], "capital"
    sides, sentences = compare((one, two), bag, relation)
    assert [side.run.name for side in sides] == ["one", "two"]
    for left, right in sentences:
        assert left
        assert right
        assert left["text"] == right["text"]
    assert [left["place"] for left, _ in sentences if left] == [1, 2, 3]


def test_sentences_are_ordered_by_the_mechanism_asked_for(runs: list[RunPredictions]) -> None:
    _, sentences = compare(runs, runs[0].fact(0)["bag"], "capital", "attention")
    scores = [left["bars"]["attention"].score for left, _ in sentences if left]
    assert scores == sorted(scores, reverse=True)


def test_a_run_without_the_fact_is_an_empty_side(runs: list[RunPredictions]) -> None:
    one, two = runs
    only_one = next(row for row in range(one.index.num_facts) if two.index.find(*_key(one, row)) is None)
    sides, sentences = compare((two, one), *_key(one, only_one))
    assert sides[0].fact is None
    assert sides[1].fact
    assert sentences
    assert all(left is None and right for left, right in sentences)


def test_comparing_a_fact_that_no_run_has_has_no_sentences(runs: list[RunPredictions]) -> None:
    sides, sentences = compare(runs, 10**6, "capital")
    assert [side.fact for side in sides] == [None, None]
    assert sentences == []


def _key(run: RunPredictions, row: int) -> tuple[int, str]:
    fact = run.fact(row)
    return fact["bag"], fact["relation"]


def test_facts_on_which_two_runs_differ_are_listed_with_links_to_both(
    client: Client, runs: list[RunPredictions]
) -> None:
    page = client.get("/compare/facts").text
    table = differences(runs[0], runs[1])
    (row, *_) = table.rows(table.find_all(DifferenceQuery()))
    assert f"of {table.num_facts} facts" in page
    assert f'href="/compare?left=one&amp;right=two&amp;bag={row.bag}&amp;relation={row.relation}"' in page
    for run in runs:
        assert f'href="/predictions/{run.name}/fact?bag=' in page
    assert "below 0.50</span>" in page
    assert 'href="/compare/facts?left=one"' in client.get("/predictions/one").text
    assert (
        "/compare/facts?left=one&amp;right=two"
        in client.get("/compare", params={"left": "one", "right": "two", "bag": row.bag, "relation": row.relation}).text
    )


def test_the_list_of_differences_can_be_turned_and_filtered(client: Client, runs: list[RunPredictions]) -> None:
    answer = client.get("/api/compare/facts", params={"left": "two", "right": "one", "only": "left"}).json()
    assert answer["num_found"] == len(differences(runs[0], runs[1]).find_all(DifferenceQuery(only="right")))
    assert all(row["left"] >= 0.5 for row in answer["rows"])
    assert "Choose two different runs" in client.get("/compare/facts", params={"left": "one", "right": "one"}).text
    assert client.get("/api/compare/facts", params={"left": "one", "right": "nine"}).status_code == 404


def test_one_run_has_nothing_to_be_compared_with(settings: ServeSettings, tmp_path: Path) -> None:
    with open_client(replace(settings, runs=settings.runs[:1], database=tmp_path / "marks.db")) as client:
        answer = client.get("/compare/facts")
        assert answer.status_code == 404
        assert "Two runs are needed" in answer.text
        assert "/compare/facts" not in client.get("/predictions/one").text
