from pathlib import Path

import numpy as np
import pytest

from sayso.features.lexicon import Lexicon
from sayso.features.own_sentences import Intake
from sayso.library import load
from sayso.model.predict import predict_logits
from toy import make_sentence
from toy_run import make_run, make_store, toy_config

SENTENCES = [
    make_sentence(f"{'so ' * (i % 4)}h{i % 7} met t{i % 3} in may", f"h{i % 7}", f"t{i % 3}") for i in range(90)
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("intake")
    return make_run(toy_config("type_and_words"), make_store(folder), folder / "run")


def by_pair(lexicon: Lexicon, tokens_held: int, extractor) -> tuple[dict[tuple[str, str], tuple], int]:
    """Return for each pair its first line, its sentences as the model reads them and its logits; and portions."""
    intake = Intake(lexicon, tokens_held)
    intake.add_stream(SENTENCES)
    entities, found = intake.recognise({"h1": "/person"}), {}
    portions = list(intake.portions(2, entities))
    for taken in portions:
        logit_BR, first_B1 = predict_logits(extractor, taken.part), taken.part.table.first_B1
        for bag in range(len(logit_BR)):
            rows = [taken.part.presented.tokens.row(n).tolist() for n in range(first_B1[bag], first_B1[bag + 1])]
            pair = entities.ids[taken.head_B[bag]], entities.ids[taken.tail_B[bag]]
            assert pair not in found
            found[pair] = int(taken.line_B[bag]), rows, logit_BR[bag]
    return found, len(portions)


def test_a_corpus_that_waits_on_disk_gives_the_same_bags_as_one_in_memory(run: Path) -> None:
    parts = load(run).parts
    held, num_held = by_pair(parts.lexicon, 10**6, parts.extractor)
    filed, num_filed = by_pair(parts.lexicon, 60, parts.extractor)
    assert (num_held, num_filed > 5) == (1, True)
    assert held.keys() == filed.keys()
    for pair, (line, rows, logit_R) in held.items():
        assert filed[pair][:2] == (line, rows)
        np.testing.assert_allclose(filed[pair][2], logit_R, atol=1e-5)
