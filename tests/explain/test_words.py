import pytest
import torch
from torch import Tensor, nn

from model.variants import VARIANTS
from sayso.explain import words
from sayso.explain.words import word_scores
from sayso.features.batch import BagBatch
from sayso.model.encoders.pcnn import PcnnConfig
from sayso.model.extractor import Extractor, ModelConfig
from toy_batch import make_batch, make_extractor

RELATION_B = torch.tensor([0, 4, 2])
PIECEWISE = ModelConfig(encoder=PcnnConfig(num_filters=5, output_width=8), use_entities=True)


def make_case(config: ModelConfig) -> tuple[Extractor, BagBatch]:
    return make_extractor(config), make_batch([1, 4, 2])


def rows_of(extractor: Extractor, batch: BagBatch) -> Tensor:
    table = torch.cat([extractor.embedding.word_VW, extractor.embedding.type_KW])
    return table[batch.sentences.token_T].detach().requires_grad_()


def dense_cnn(extractor: Extractor, row_TW: Tensor, batch: BagBatch) -> Tensor:
    """The convolutional encoder sentence by sentence, with torch's own convolution and maximum."""
    encoder, sentences = extractor.encoder, batch.sentences
    row_TD = torch.cat([row_TW, encoder.convolution.position(sentences)], 1)
    biases = encoder.bias_F.split([weight.shape[1] for weight in encoder.convolution.weights])
    vectors = []
    for row_tD in row_TD.split(sentences.length_S.tolist()):
        peaks = []
        for weight, bias in zip(encoder.convolution.weights, biases, strict=True):
            padded = nn.functional.pad(row_tD.T, (0, max(0, len(weight) - len(row_tD))))
            peaks.append(nn.functional.conv1d(padded[None], weight.permute(1, 2, 0), bias)[0].relu().amax(1))
        vectors.append(encoder.projection(torch.cat(peaks)).relu())
    return torch.stack(vectors)


@pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)
def test_scores_equal_automatic_differentiation_of_a_dense_convolution(config: ModelConfig) -> None:
    extractor, batch = make_case(config)
    row_TW = rows_of(extractor, batch)
    logit_BR = extractor.classify(dense_cnn(extractor, row_TW, batch), batch.bags)
    (gradient_TW,) = torch.autograd.grad(logit_BR[torch.arange(3), RELATION_B].sum(), row_TW)
    score_T = word_scores(extractor, batch.sentences, batch.bags, RELATION_B)
    torch.testing.assert_close(score_T, (row_TW * gradient_TW).sum(1).detach(), atol=1e-9, rtol=1e-9)
    assert score_T.any()


@pytest.mark.parametrize("config", [ModelConfig(), PIECEWISE], ids=["cnn", "pcnn"])
def test_scores_are_the_change_when_a_words_vector_grows(config: ModelConfig) -> None:
    extractor, batch = make_case(config)
    score_T = word_scores(extractor, batch.sentences, batch.bags, RELATION_B)
    table, step = extractor.embedding.word_VW.clone(), 1e-6
    chosen = torch.arange(3), RELATION_B
    for token in batch.sentences.token_T[batch.sentences.token_T < len(table)].unique()[:6].tolist():
        logits = []
        for factor in (1 + step, 1 - step):
            extractor.embedding.word_VW.copy_(table)[token] *= factor
            logits.append(extractor(batch)[chosen].sum().item())
        extractor.embedding.word_VW.copy_(table)
        expected = (logits[0] - logits[1]) / (2 * step)
        assert float(score_T[batch.sentences.token_T == token].sum()) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("config", [ModelConfig(), PIECEWISE], ids=["cnn", "pcnn"])
def test_one_sentence_at_a_time_gives_the_same(config: ModelConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    extractor, batch = make_case(config)
    at_once = word_scores(extractor, batch.sentences, batch.bags, RELATION_B)
    monkeypatch.setattr(words, "TOKENS_AT_A_TIME", 1)
    torch.testing.assert_close(word_scores(extractor, batch.sentences, batch.bags, RELATION_B), at_once)


def test_the_model_is_unchanged_and_dropout_is_off() -> None:
    extractor, batch = make_case(ModelConfig())
    at_rest = word_scores(extractor, batch.sentences, batch.bags, RELATION_B)
    extractor.train()
    with torch.no_grad():
        score_T = word_scores(extractor, batch.sentences, batch.bags, RELATION_B)
    torch.testing.assert_close(score_T, at_rest)
    assert extractor.training
    assert not score_T.requires_grad
    assert all(parameter.grad is None for parameter in extractor.parameters())


def test_no_sentences_have_no_scores() -> None:
    batch = make_batch([])
    score_T = word_scores(make_extractor(ModelConfig()), batch.sentences, batch.bags, torch.zeros(0, dtype=torch.long))
    assert score_T.shape == (0,)
