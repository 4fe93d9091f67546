from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.features.lexicon import Lexicon
from sayso.features.user_input import InputBuilder, _SpilledSentences
from sayso.library import load
from sayso.model.predict import predict_logits
from sayso.store.collect import Collector
from sayso.store.table import BagTable
from sayso.store.vocabulary import Numbering
from toy import make_sentence
from toy_run import make_run, make_store, toy_config

SENTENCES = [
    make_sentence(f"{'so ' * (i % 4)}h{i % 7} met t{i % 3} in may", f"h{i % 7}", f"t{i % 3}") for i in range(90)
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("builder")
    return make_run(toy_config("type_and_words"), make_store(folder), folder / "run")


def by_pair(lexicon: Lexicon, tokens_held: int, extractor) -> tuple[dict[tuple[str, str], tuple], int]:
    """Return for each pair its first line, its sentences as the model reads them and its logits; and portions."""
    builder = InputBuilder(lexicon, tokens_held)
    builder.add_stream(SENTENCES)
    entities, found = builder.recognise({"h1": "/person"}), {}
    portions = list(builder.portions(2, entities))
    for bags in portions:
        logit_BR, first_B1 = predict_logits(extractor, bags.part), bags.part.table.first_B1
        for bag in range(len(logit_BR)):
            rows = [bags.part.inputs.tokens.row(n).tolist() for n in range(first_B1[bag], first_B1[bag + 1])]
            pair = entities.ids[bags.head_B[bag]], entities.ids[bags.tail_B[bag]]
            assert pair not in found
            found[pair] = int(bags.line_B[bag]), rows, logit_BR[bag]
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


def described(collected: BagTable, lines: list[int]) -> dict[int, tuple]:
    """Return by line: pair, tokens, spans and window."""
    rows = (collected.tokens, collected.head_spans, collected.tail_spans)
    columns = (collected.head_B, collected.tail_B, collected.window_N2)
    return {
        line: (*(column[i].tolist() for column in columns), *(each.row(i).tolist() for each in rows))
        for i, line in enumerate(lines)
    }


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.integers(0, 3)), max_size=30), st.data())
def test_spilled_sentences_come_back_as_they_were_each_pair_whole(lines: list[tuple[str, str, int]], data) -> None:
    words, ids, names = Numbering(), Numbering(), dict[int, str]()
    whole, filed = Collector(words, ids, names, 10), _SpilledSentences()
    cuts = data.draw(st.sets(st.integers(0, max(len(lines) - 1, 0))))
    part = Collector(words, ids, names, 10)
    for number, (head, tail, num_words) in enumerate(lines):
        sentence = make_sentence(f"{head} {'of ' * num_words}{tail} {head}", head, tail)
        whole.add(*sentence[:3])
        part.add(*sentence[:3])
        if number in cuts:
            filed.put(part.columns())
            part = Collector(words, ids, names, 10)
    filed.put(part.columns())
    portions = list(filed.portions(num_tokens=20))
    found = [described(collected, line_N.tolist()) for collected, line_N in portions]
    expected = described(whole.columns(), list(range(len(lines))))
    assert {line: row for portion in found for line, row in portion.items()} == expected
    pairs = [{row[:2] for row in portion.values()} for portion in found]
    assert sum(map(len, pairs)) == len(set().union(*pairs))
    for _, line_N in portions:
        of_pair = [[line for line in line_N.tolist() if expected[line][:2] == expected[first][:2]] for first in line_N]
        assert all(lines_of == sorted(lines_of) for lines_of in of_pair)
