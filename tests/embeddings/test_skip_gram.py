import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sayso.embeddings.skip_gram import SkipGramSettings, _texts, train_skip_gram
from sayso.embeddings.word2vec import read_word_vectors
from sayso.errors import BadConfigError, BadInputError, MissingExtraError, UserError

TOY = SkipGramSettings(width=8, epochs=2, min_count=1, seed=3)


def corpus(folder: Path, num_lines: int = 40) -> Path:
    cities = ["el_paso", "london", "new_york"]
    path = folder / "train.txt"
    path.write_text(
        "".join(
            f"m.{i}\tm.c\tp{i}\t{cities[i % 3]}\tNA\tthen p{i} lived in {cities[i % 3]} for a while\t###END###\n"
            for i in range(num_lines)
        )
    )
    return path


def ignore(_text: str) -> None:
    pass


def test_a_sentence_of_several_pairs_is_learned_once_and_each_joined_name_in_its_place():
    lines = [
        "she flew from el_paso to new york today",
        "she flew from el paso to new_york today",
        "she flew from el_paso to new york today",
    ]
    texts = [" ".join(tokens) for tokens, _ in _texts(map(str.split, lines), window=2)]
    assert texts == ["she flew from el paso to new york today", "flew from el_paso to new", "paso to new_york today"]
    assert [is_sentence for _, is_sentence in _texts(map(str.split, lines), window=2)] == [True, False, False]


def test_underscores_that_join_nothing_are_no_name():
    assert len(list(_texts([["a", "_", "b", "__", "c_"]], window=2))) == 1


def test_vectors_of_joined_names_and_of_their_parts_are_written(tmp_path):
    out = tmp_path / "words.bin"
    progress: list[str] = []
    report = train_skip_gram([corpus(tmp_path)], out, TOY, 0.0, progress.append)
    vectors = read_word_vectors(out)
    assert {"el_paso", "el", "paso", "lived"} <= set(vectors.words)
    assert vectors.matrix.shape == (report.num_words, 8)
    assert report.num_sentences == 40
    assert progress[-2:] == ["epoch 1 of 2", "epoch 2 of 2"]


def test_one_worker_and_one_seed_give_one_file(tmp_path):
    path = corpus(tmp_path)
    for name, seed in (("first", 3), ("second", 3), ("other", 4)):
        settings = SkipGramSettings(width=8, epochs=2, min_count=1, seed=seed)
        train_skip_gram([path], tmp_path / name, settings, 0.0, ignore)
    first, second, other = ((tmp_path / name).read_bytes() for name in ("first", "second", "other"))
    assert first == second != other


@pytest.mark.slow
def test_the_hash_seed_of_python_does_not_matter(tmp_path):
    path = corpus(tmp_path)
    program = (
        "import sys; from pathlib import Path; from sayso.embeddings.skip_gram import *;"
        "train_skip_gram([Path(sys.argv[1])], Path(sys.argv[2]), SkipGramSettings(width=8, seed=3), 0.0, str)"
    )
    for name in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": name}
        subprocess.run([sys.executable, "-c", program, path, tmp_path / name], env=environment, check=True)
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_words_seen_together_come_nearer_than_others(tmp_path):
    path = tmp_path / "c.txt"
    # The number makes sentences distinct: repeated ones count once.
    lines = [
        f"a\tb\tada\t{place}\tNA\tada {i} {place} {fruit} {fruit} {place}\t###END###\n"
        for i in range(300)
        for place, fruit in (("north", "apple"), ("south", "melon"))
    ]
    path.write_text("".join(lines))
    settings = SkipGramSettings(width=10, epochs=20, min_count=5, window=2, seed=1)
    train_skip_gram([path], tmp_path / "v", settings, 0.0, ignore)
    vectors = read_word_vectors(tmp_path / "v")
    unit = vectors.matrix / np.linalg.norm(vectors.matrix, axis=1, keepdims=True)
    nearness = dict(zip(vectors.words, unit @ unit.T, strict=True))
    index = vectors.words.index
    assert nearness["apple"][index("north")] > nearness["apple"][index("south")]


def test_documents_are_read_whole_without_their_markup(tmp_path):
    folder = tmp_path / "articles"
    folder.mkdir()
    (folder / "a.html").write_text("<p>Ana left Rome.</p><p>It rained.</p>")
    (folder / "b.txt").write_text("Bo stayed.\tAna\tdid\tnot.")
    lines = tmp_path / "articles.jsonl"
    lines.write_text('{"id": "a", "text": "Ana left Rome. It rained."}\n{"id": "b"}\n{"id": "c", "text": 3}\n')
    report = train_skip_gram([folder], tmp_path / "v", TOY, 0.0, ignore)
    assert (report.num_sentences, report.num_bad) == (4, 0)
    assert {"Ana", "Rome", "stayed"} <= set(read_word_vectors(tmp_path / "v").words)
    report = train_skip_gram([lines], tmp_path / "v", TOY, 0.0, ignore)
    assert (report.num_sentences, report.num_bad) == (2, 1)


def test_a_corpus_that_build_made_is_read_whole(tmp_path):
    for part in ("train", "rest"):
        (tmp_path / "corpus" / part).mkdir(parents=True)
        (tmp_path / "corpus" / part / "0.txt").write_text(f"m.1\tm.2\ta\tb\tNA\ta saw b in {part} .\t###END###\n")
    report = train_skip_gram([tmp_path / "corpus"], tmp_path / "v", TOY, 0.0, ignore)
    assert report.num_sentences == 2


def test_standard_input_is_refused_because_training_reads_several_times(tmp_path):
    with pytest.raises(BadInputError, match="several times"):
        train_skip_gram([Path("-")], tmp_path / "v", TOY, 0.0, ignore)


def test_bad_lines_stop_training_before_it_begins(tmp_path):
    path = corpus(tmp_path)
    path.write_text(path.read_text() + "m.1\tm.2\tx\ty\tNA\tnobody here\t###END###\n")
    with pytest.raises(UserError, match=r"train\.txt:41: head mention"):
        train_skip_gram([path], tmp_path / "v", TOY, 0.0, ignore)
    assert not (tmp_path / "v").exists()
    assert train_skip_gram([path], tmp_path / "v", TOY, 0.5, ignore).num_bad == 1


def test_a_text_without_a_frequent_word_is_a_clear_error(tmp_path):
    with pytest.raises(BadInputError, match="no word occurs 1000 times; lower min_count"):
        train_skip_gram([corpus(tmp_path)], tmp_path / "v", SkipGramSettings(min_count=1000), 0.0, ignore)


def test_without_gensim_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sayso\[vectors\]'"):
        train_skip_gram([corpus(tmp_path)], tmp_path / "v", TOY, 0.0, ignore)


def test_settings_out_of_range_are_refused():
    with pytest.raises(BadConfigError, match="window is 0"):
        SkipGramSettings(window=0)
