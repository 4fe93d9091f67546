from pathlib import Path

import numpy as np
import pytest

from sayso.features.mentions import ModelInput
from sayso.features.subwords import Subwords, SubwordTokenizer, num_cut, text_order
from sayso.store.rows import Rows
from toy_encoder import toy_pretrained, toy_tokenizer, write_encoder


def tokenizer() -> SubwordTokenizer:
    return toy_pretrained(1, 1).subwords.tokenizer


def pieces_of(rows: Rows, row: int) -> list[str]:
    backend = toy_tokenizer()
    return [backend.id_to_token(number) for number in rows.row(row).tolist()]


def test_a_word_is_split_as_in_a_sentence_without_the_limits_of_the_file() -> None:
    words = ["Bornings", "the", "abcdefghijklmnop"]
    rows = tokenizer().split(words)
    backend = toy_tokenizer()
    backend.no_truncation()
    backend.no_padding()
    whole = backend.encode(" ".join(words), add_special_tokens=False).ids
    assert rows.value.tolist() == whole
    assert rows.length.tolist() == [3 + 0, 1, 16]


def test_joined_names_and_treebank_brackets_are_split_as_they_are_meant() -> None:
    rows = tokenizer().split(["the_city", "-LRB-", "-rrb-"])
    assert [pieces_of(rows, row) for row in range(3)] == [["the", "city"], ["("], [")"]]


def test_a_word_without_subwords_is_unknown() -> None:
    assert tokenizer().split(["", "\u200b"]).value.tolist() == [tokenizer().special.unknown] * 2


def test_new_words_get_ids_after_the_types_and_subwords_on_demand() -> None:
    subwords = Subwords(tokenizer(), ["<unknown>", "the"], ["/other", "/a/city"])
    assert subwords.numbering["the"] == 1
    assert [subwords.numbering[word] for word in ("in", "of", "in")] == [4, 5, 4]
    assert [pieces_of(subwords.rows, row) for row in (1, 3, 4, 5)] == [["the"], ["city"], ["in"], ["of"]]
    assert len(subwords.kept) == 4
    again = Subwords(tokenizer(), ["<unknown>", "the"], ["/other", "/a/city"], subwords.kept)
    assert again.rows.value.tolist() == subwords.kept.value.tolist()


def test_sentences_that_are_cut_are_counted_with_their_markers() -> None:
    rows = Rows.of_lengths(np.arange(6), np.array([1, 5]))
    tokens = Rows.of_lengths(np.array([0, 1, 0, 1, 1]), np.array([3, 2]))
    empty = np.zeros(5, np.int8)
    inputs = ModelInput(tokens=tokens, head_distance_T=empty, tail_distance_T=empty, piece_T=empty)
    assert [num_cut(inputs, rows, most) for most in (12, 13, 15, 16)] == [2, 1, 1, 0]


def test_sentences_with_the_same_subwords_are_adjacent_however_their_words_are_joined() -> None:
    # Token 2 has the subwords of tokens 0 and 1.
    rows = Rows.of_lengths(np.array([5, 7, 5, 7]), np.array([1, 1, 2]))
    tokens = Rows.of_lengths(np.array([0, 1, 1, 0, 2, 1, 0]), np.array([2, 2, 1, 2]))
    empty = np.zeros(7, np.int8)
    order = text_order(ModelInput(tokens=tokens, head_distance_T=empty, tail_distance_T=empty, piece_T=empty), rows)
    assert sorted(order.tolist()) == [0, 1, 2, 3]
    assert abs(order.tolist().index(0) - order.tolist().index(2)) == 1
    assert abs(order.tolist().index(1) - order.tolist().index(3)) == 1


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_encoder(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    with pytest.raises(Exception, match=r"pip install 'sayso\[transformers\]'"):
        SubwordTokenizer(text="{}", special=tokenizer().special).split(["a"])
