import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc

from sayso.integrations import spacy_component  # noqa: F401
from sayso.library import load
from sayso.records import Bag, Sentence
from script import ROOT
from toy_run import make_run, make_store, toy_config

TEXT = "In north_land2 the sun is out. port_town2 is the capital of north_land2. north_land2 and  port_town2 talk."


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spacy")
    return make_run(toy_config("type"), make_store(folder), folder / "run")


def pipeline(run: Path, **config: Any) -> Any:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "GPE", "pattern": name, "id": key} for name, key in NAMES.items()])
    nlp.add_pipe("sayso", config={"run": str(run), "threshold": 0.0, **config})
    return nlp


NAMES = {"north_land2": "l2", "port_town2": "t2"}


def test_facts_are_those_of_the_library_with_the_sentences_that_say_so(run: Path) -> None:
    doc = pipeline(run)(TEXT)
    texts = ["port_town2 is the capital of north_land2 .", "north_land2 and port_town2 talk ."]
    sentences = [Sentence.from_text(text, "north_land2", "port_town2", "l2", "t2") for text in texts]
    expected = {p.relation: p.probability for p in load(run).predict([Bag("l2", "t2", tuple(sentences))], 0.0)[0]}
    forward = {fact.relation: fact.probability for fact in doc._.sayso if fact.head_id == "l2"}
    assert forward == pytest.approx(expected, abs=1e-6)
    assert len(doc._.sayso) == 4, "both directions, two relations each"
    probabilities = [fact.probability for fact in doc._.sayso]
    assert probabilities == sorted(probabilities, reverse=True)
    first = doc._.sayso[0].quotes[0]
    assert doc.text[first.source.start : first.source.stop] in (TEXT[31:72], TEXT[73:])


def test_quotes_have_the_text_of_the_document(run: Path) -> None:
    text = "It's so.\nport_town2, (not  in)\nnorth_land2's east, can't sing."
    doc = pipeline(run)(text)
    first = doc._.sayso[0].quotes[0]
    assert first.exact == "port_town2, (not in) north_land2"
    assert first.sentence == " ".join(text[first.source.start : first.source.stop].split())


def test_a_span_has_the_facts_it_is_evidence_for(run: Path) -> None:
    nothing, capital, talk = pipeline(run, max_evidence=1)(TEXT).sents
    assert nothing._.sayso == []
    assert {fact.head_id for fact in (*capital._.sayso, *talk._.sayso)} == {"l2", "t2"}
    assert all(fact.quotes[0].source.start == capital.start_char for fact in capital._.sayso)


def test_a_document_that_went_through_another_pipeline_has_none() -> None:
    doc = spacy.blank("en")("Nothing here.")
    assert doc._.sayso == doc[:1]._.sayso == []


def test_facts_are_stored_with_their_document(run: Path) -> None:
    nlp = pipeline(run)
    doc = nlp(TEXT)
    assert len(doc._.sayso) == 4
    assert Doc(nlp.vocab).from_bytes(doc.to_bytes())._.sayso == doc._.sayso


PROGRAM = """
import json
import sys

import spacy

assert "sayso" not in sys.modules
run, text, names = json.loads(sys.argv[1])
nlp = spacy.blank("en")
nlp.add_pipe("sentencizer")
ruler = nlp.add_pipe("entity_ruler")
ruler.add_patterns([{"label": "GPE", "pattern": name, "id": key} for name, key in names.items()])
nlp.add_pipe("sayso", config={"run": run, "threshold": 0.0})
print(json.dumps([[fact.head_id, fact.relation, fact.tail_id] for fact in nlp(text)._.sayso]))
"""


def test_an_installed_sayso_offers_the_component_to_programs_that_do_not_import_it(run: Path, tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    installed = tmp_path / "sayso-0.dist-info"  # what an installer writes of pyproject.toml
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: sayso\nVersion: 0\n")
    points = "".join(f"{name} = {target}\n" for name, target in project["entry-points"]["spacy_factories"].items())
    (installed / "entry_points.txt").write_text(f"[spacy_factories]\n{points}")
    paths = [str(tmp_path), str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([str(run), TEXT, NAMES])],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    expected = [[fact.head_id, fact.relation, fact.tail_id] for fact in pipeline(run)(TEXT)._.sayso]
    assert json.loads(result.stdout) == expected
    assert len(expected) == 4


def test_labels_are_mapped_to_types_of_the_model(run: Path) -> None:
    plain, typed = (pipeline(run, types=types)(TEXT) for types in ({}, {"GPE": "/person"}))
    assert [fact.probability for fact in plain._.sayso] != [fact.probability for fact in typed._.sayso]


def test_a_document_without_pairs_has_no_facts(run: Path) -> None:
    assert pipeline(run)("Nothing here.")._.sayso == []


def test_a_missing_run_or_sentence_splitter_is_an_error(run: Path) -> None:
    nlp = spacy.blank("en")
    with pytest.raises(ValueError, match="`run` is missing: pass a run or model folder"):
        nlp.add_pipe("sayso")
    nlp.add_pipe("sayso", config={"run": str(run)})
    with pytest.raises(ValueError, match="sayso needs sentence boundaries"):
        nlp("No sentences.")


def test_a_name_across_two_lines_has_a_space_in_it(run: Path) -> None:
    nlp = pipeline(run)
    across = [{"TEXT": "Port"}, {"IS_SPACE": True}, {"TEXT": "Town"}]
    nlp.get_pipe("entity_ruler").add_patterns([{"label": "GPE", "pattern": across}])
    facts = nlp("north_land2 has Port\nTown in it.")._.sayso
    assert {fact.head_id for fact in facts} == {"l2", "Port Town"}
    assert {fact.head_name for fact in facts} == {"north_land2", "Port Town"}
