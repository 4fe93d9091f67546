from collections.abc import Sequence

import numpy as np
import pytest
import torch

from sayso.features.batch import Part
from sayso.features.mentions import model_input
from sayso.model import predict
from sayso.model.encoders.transformer import TransformerConfig, TransformerEncoder
from sayso.model.ensemble import Ensemble
from sayso.model.extractor import Extractor, ModelConfig
from sayso.model.predict import predict_logits
from toy_batch import NUM_RELATIONS, NUM_WORDS, make_extractor
from toy_table import HEAD, TAIL, Pair, table_of

TEXTS = [(HEAD, *range(3, 4 + number), TAIL) for number in range(9)]


def bags_of(texts: Sequence[tuple[int, ...]]) -> Part:
    """Return bags of two sentences; all have the same entities."""
    table = table_of(*(Pair(1, 2, (), tuple(texts[at : at + 2])) for at in range(0, len(texts), 2)))
    inputs = model_input(table, "words", NUM_WORDS, np.zeros(3, np.int64))
    return Part(table=table, inputs=inputs, num_relations=NUM_RELATIONS)


def lengths_read(extractor: Extractor) -> list[int]:
    """Return a list of the padded lengths of the texts that the encoder reads from now on."""
    seen: list[int] = []
    assert isinstance(extractor.encoder, TransformerEncoder)
    for network in extractor.encoder.networks:
        network.register_forward_hook(
            lambda _, args, kwargs, __: seen.extend([kwargs["inputs_embeds"].shape[1]] * len(kwargs["inputs_embeds"])),
            with_kwargs=True,
        )
    return seen


@pytest.mark.parametrize("has_members", [False, True])
def test_equal_texts_in_distant_bags_are_read_once(has_members: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    extractor = make_extractor(ModelConfig(encoder=TransformerConfig(reading="spans")))
    seen = lengths_read(extractor)
    part, whole = bags_of(TEXTS * 4), Ensemble([extractor]).eval() if has_members else extractor
    expected = predict_logits(whole, part)
    assert len(seen) == len(TEXTS)
    monkeypatch.setattr(predict, "TOKENS_AT_A_TIME", 24)
    seen.clear()
    np.testing.assert_allclose(predict_logits(whole, part), expected, rtol=1e-9)
    num_pieces = sum(len(text) for text in TEXTS) * 4 / 24 + 1
    # A text whose lines are divided between two pieces is read twice.
    assert len(TEXTS) <= len(seen) <= len(TEXTS) + num_pieces
    assert len(seen) < 2 * len(TEXTS)
    monkeypatch.setattr(predict, "_SENTENCES_SHARED", 6)
    np.testing.assert_allclose(predict_logits(whole, part), expected, rtol=1e-9)


def test_with_markers_every_sentence_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    extractor = make_extractor(ModelConfig(encoder=TransformerConfig()))
    seen, part = lengths_read(extractor), bags_of(TEXTS * 2)
    expected = predict_logits(extractor, part)
    monkeypatch.setattr(predict, "TOKENS_AT_A_TIME", 24)
    np.testing.assert_allclose(predict_logits(extractor, part), expected, rtol=1e-9)
    assert len(seen) == 2 * len(part.inputs.tokens)


def test_chunks_are_read_by_all_threads_and_give_the_same_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    extractor = make_extractor(ModelConfig(encoder=TransformerConfig()))
    before, part = torch.get_num_threads(), bags_of(TEXTS * 4)
    try:
        torch.set_num_threads(1)
        expected = predict_logits(extractor, part)
        torch.set_num_threads(3)
        assert np.array_equal(predict_logits(extractor, part), expected)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
