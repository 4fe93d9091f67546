from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from sayso.records import Source
from sayso.serve.try_it.pages import _to_try
from toy import make_sentence
from toy_runs import Client, make_toy_settings

FORM = {"run": "one", "sentences": "Windhoek lies in Namibia.", "heads": "Namibia", "tails": "Windhoek"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    # The runs have no weights: every question to the model fails, and the page must handle it.
    opened = Client(make_toy_settings(tmp_path_factory.mktemp("try")))
    yield opened
    opened.application.state.workbench.close()


def test_the_form_is_there_without_a_model(client: Client) -> None:
    page = client.get("/try").text
    assert "Run the model" in page
    assert not any(worker.is_running for worker in client.application.state.workbench.workers.values())


def test_the_sentences_of_a_bag_can_be_tried(client: Client) -> None:
    page = client.get("/try", params={"run": "two", "bag": 0, "relation": "capital"}).text
    bag = client.application.state.workbench.bag(0)
    assert bag.sentences[0].head.name in page
    assert bag.sentences[0].written != bag.sentences[0].text
    assert bag.sentences[0].written in unescape(page)
    assert "<option selected>two" in page
    assert "<option selected>capital" in page
    assert client.get("/try", params={"bag": 10**6}).status_code == 404


def test_a_sentence_to_try_has_the_same_tokens() -> None:
    glued = make_sentence("h , a t")._replace(source=Source("d", 0, 6, (1,)))
    cut = make_sentence("h -based , a t")._replace(source=Source("d", 0, 12, (1, 2)))
    assert [_to_try(sentence) for sentence in (glued, cut)] == ["h, a t", "h -based , a t"]


@pytest.mark.parametrize(
    ("changes", "status", "says"),
    [
        ({"heads": " "}, 422, "Names of the head: empty"),
        ({"sentences": ""}, 422, "there are no sentences"),
        ({"sentences": "Windhoek lies in Namibia.\n" * 70}, 422, "Sentences: more than 64 sentences"),
        ({"sentences": "x" * 30_000}, 422, "Sentences[1]: more than 20,000 characters"),
        ({"run": "three"}, 404, "not found"),
        ({"run": "one"}, 503, "model"),
    ],
)
def test_errors_are_shown_above_the_form_that_was_sent(
    client: Client, changes: dict[str, str], status: int, says: str
) -> None:
    page = client.post("/try", data=FORM | changes)
    assert page.status_code == status
    assert says in page.text
    assert "Windhoek</textarea>" in page.text


def test_the_interface_says_the_same_in_the_one_form(client: Client) -> None:
    question = {"sentences": ["Windhoek lies in Namibia."], "heads": ["Namibia"], "tails": ["Windhoek"]}
    assert client.post("/api/try/three", json=question).json()["error"]["status"] == 404
    assert client.post("/api/try/one", json=question).json()["error"]["status"] == 503
    assert client.post("/api/try/one", json=question | {"heads": []}).json()["error"]["status"] == 422


def test_who_is_not_signed_in_is_sent_to_the_door(tmp_path: Path) -> None:
    stranger = Client(make_toy_settings(tmp_path))
    stranger.cookies.clear()
    assert stranger.get("/try").url.path == "/sign-in"
