from pathlib import Path

import pytest

from sayso.explain.bag import bag_of_run, explain_bag
from sayso.explain.trained_run import open_runs
from sayso.features import lexicon
from sayso.model.extractor import Extractor
from sayso.store.marks import marks_of_store
from sayso.store.store import Store


def test_explaining_one_bag_reads_and_encodes_that_bag_alone_and_once(
    runs: list[Path], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    num_read, num_encoded = [], []
    read, encode = lexicon.model_input, Extractor.encode

    def count_read(table, *rest, **options):
        num_read.append(table.num_sentences)
        return read(table, *rest, **options)

    def count_encoded(extractor, sentences):
        num_encoded.append(sentences.num_sentences)
        return encode(extractor, sentences)

    monkeypatch.setattr(lexicon, "model_input", count_read)
    monkeypatch.setattr(Extractor, "encode", count_encoded)
    (run,) = open_runs(runs[:1], store, "test")
    index = int(run.table.size_B.argmax())
    ids = store.entities["id"]
    head, tail = ids[int(run.table.head_B[index])], ids[int(run.table.tail_B[index])]
    bag = bag_of_run(run, run.find_bag(str(head), str(tail)), marks_of_store(store, "test"))
    (explanation,) = explain_bag(run.model, bag, threshold=1.0)
    size = int(run.table.size_B[index])
    assert size > 1
    assert len(explanation.evidence) == size
    assert num_read == [size]
    assert num_encoded == [size]
    assert any(each.word_scores for each in explanation.evidence)
