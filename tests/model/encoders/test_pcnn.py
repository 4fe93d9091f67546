import pytest
import torch
from torch import Tensor
from torch.nn.functional import conv1d

from sayso.errors import BadConfigError
from sayso.features.batch import SentenceBatch
from sayso.model.embedding import TokenEmbedding
from sayso.model.encoders.base import ModelTables
from sayso.model.encoders.pcnn import PcnnConfig, PcnnEncoder
from toy_batch import NUM_TYPES, NUM_WORDS, WORD_WIDTH, make_sentences

LENGTHS = [7, 1, 12, 2, 30]
TABLES = ModelTables(word_VW=torch.zeros(1, WORD_WIDTH), num_types=0, num_relations=1)


def make_encoder(filter_width: int) -> PcnnEncoder:
    config = PcnnConfig(filter_width=filter_width, num_filters=4, output_width=6, dropout=0.0)
    return PcnnEncoder(config, TABLES, torch.Generator().manual_seed(1)).double()


def make_embedding() -> TokenEmbedding:
    generator = torch.Generator().manual_seed(2)
    return TokenEmbedding(torch.randn(NUM_WORDS, WORD_WIDTH, generator=generator), NUM_TYPES, generator).double()


def encode_one_by_one(encoder: PcnnEncoder, embedding: TokenEmbedding, sentences: SentenceBatch) -> Tensor:
    """The definition with torch's own convolution: one value per token, the maximum over each piece, tanh."""
    token_VW = torch.cat([embedding.word_VW, embedding.type_KW])
    row_TD = torch.cat([token_VW[sentences.token_T], encoder.convolution.position(sentences)], 1)
    weight = encoder.convolution.weights[0]
    reach = len(weight) - 1
    lengths = sentences.length_S.tolist()
    pooled = []
    for row_LD, piece_L in zip(row_TD.split(lengths), sentences.piece_T.split(lengths), strict=True):
        before, after = (row_LD.new_zeros(n, row_LD.shape[1]) for n in (reach // 2, reach - reach // 2))
        value_FL = conv1d(torch.cat([before, row_LD, after]).T, weight.permute(1, 2, 0), encoder.bias_F)
        for piece in range(3):
            part = value_FL[:, piece_L == piece]
            pooled.append(part.amax(1).tanh() if part.shape[1] else row_LD.new_zeros(len(value_FL)))
    return encoder.projection(torch.cat(pooled).view(len(lengths), -1)).relu()


@pytest.mark.parametrize("filter_width", [1, 2, 3, 5])
def test_it_and_its_gradients_equal_torch_convolution_on_each_sentence_alone(filter_width: int) -> None:
    encoder, sentences = make_encoder(filter_width), make_sentences(LENGTHS)
    embedding = make_embedding()
    got, expected = encoder(embedding, sentences), encode_one_by_one(encoder, embedding, sentences)
    torch.testing.assert_close(got, expected, atol=1e-12, rtol=1e-12)
    with torch.no_grad():
        torch.testing.assert_close(encoder(embedding, sentences), expected, atol=1e-12, rtol=1e-12)
    learned = [*encoder.parameters(), *embedding.parameters()]
    pairs = zip(*(torch.autograd.grad(v.square().sum(), learned) for v in (got, expected)), strict=True)
    for a, b in pairs:
        torch.testing.assert_close(a, b, atol=1e-12, rtol=1e-10)


def test_some_pieces_of_the_toy_sentences_are_empty() -> None:
    # The test above says something about empty pieces only because of this.
    sentences = make_sentences(LENGTHS)
    assert any(len(piece.unique()) < 3 for piece in sentences.piece_T.split(LENGTHS))


@pytest.mark.parametrize("settings", [{"filter_width": 0}, {"dropout": -0.1}])
def test_settings_out_of_range_are_refused(settings) -> None:
    with pytest.raises(BadConfigError):
        PcnnConfig(**settings)
