"""What every encoder promises."""

import pkgutil

import pytest
import torch

import sayso.model.encoders
from sayso.model.encoders import ENCODERS
from sayso.model.extractor import Extractor, ModelConfig
from toy_batch import make_extractor, make_sentences, part_of

LENGTHS = [7, 1, 12, 2, 30, 4, 5]
over_kinds = pytest.mark.parametrize("kind", ENCODERS)


def extractor_of(kind: str) -> Extractor:
    return make_extractor(ModelConfig(encoder=ENCODERS[kind][0]()))


def test_every_file_of_the_folder_is_registered() -> None:
    files = {module.name for module in pkgutil.iter_modules(sayso.model.encoders.__path__)}
    assert files - {"base"} == set(ENCODERS)


@over_kinds
def test_a_sentence_alone_equals_the_sentence_in_a_batch(kind: str) -> None:
    extractor, sentences = extractor_of(kind), make_sentences(LENGTHS)
    together = extractor.encode(sentences)
    alone = torch.cat([extractor.encode(part_of(sentences, [i])) for i in range(len(LENGTHS))])
    torch.testing.assert_close(together, alone, atol=1e-12, rtol=1e-12)


@over_kinds
def test_the_order_of_sentences_does_not_matter(kind: str) -> None:
    extractor, sentences = extractor_of(kind), make_sentences(LENGTHS)
    order = [4, 0, 6, 3, 1, 5, 2]
    torch.testing.assert_close(extractor.encode(part_of(sentences, order)), extractor.encode(sentences)[order])


@over_kinds
def test_vectors_have_the_encoders_width_and_no_negative_value(kind: str) -> None:
    extractor = extractor_of(kind)
    vector_SD = extractor.encode(make_sentences(LENGTHS))
    assert vector_SD.shape == (len(LENGTHS), extractor.encoder.width)
    assert bool((vector_SD >= 0).all())
    assert vector_SD.any()


@over_kinds
def test_a_saved_state_gives_the_same_vectors(kind: str) -> None:
    first, other = extractor_of(kind), make_extractor(ModelConfig(encoder=ENCODERS[kind][0]()), seed=1)
    sentences = make_sentences(LENGTHS)
    assert not other.encode(sentences).equal(first.encode(sentences))
    other.load_state_dict(first.state_dict())
    assert other.encode(sentences).equal(first.encode(sentences))


@over_kinds
def test_a_gradient_reaches_every_parameter(kind: str) -> None:
    extractor = extractor_of(kind)
    extractor.encode(make_sentences(LENGTHS, seed=1)).sum().backward()
    learned = [*extractor.encoder.named_parameters(), *extractor.embedding.named_parameters()]
    assert [name for name, p in learned if p.numel() and (p.grad is None or not p.grad.any())] == []
