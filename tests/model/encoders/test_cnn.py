import pytest
import torch
from torch import Tensor
from torch.nn.functional import conv1d

from sayso.errors import BadConfigError
from sayso.features.batch import SentenceBatch
from sayso.model.embedding import TokenEmbedding
from sayso.model.encoders.base import ModelTables
from sayso.model.encoders.cnn import CnnConfig, CnnEncoder
from toy_batch import NUM_TYPES, NUM_WORDS, WORD_WIDTH, make_extractor, make_sentences

CONFIG = CnnConfig(widths=(2, 3, 5), num_filters=4, output_width=6, dropout=0.0)
LENGTHS = [7, 1, 12, 2, 30, 4, 5]
LONG = [7, 12, 5, 30]
TABLES = ModelTables(word_VW=torch.zeros(1, WORD_WIDTH), num_types=0, num_relations=1)


def make_encoder(dtype: torch.dtype = torch.float64) -> CnnEncoder:
    return CnnEncoder(CONFIG, TABLES, torch.Generator().manual_seed(1)).to(dtype)


def make_embedding(dtype: torch.dtype = torch.float64) -> TokenEmbedding:
    generator = torch.Generator().manual_seed(2)
    return TokenEmbedding(torch.randn(NUM_WORDS, WORD_WIDTH, generator=generator), NUM_TYPES, generator).to(dtype)


def encode_one_by_one(encoder: CnnEncoder, embedding: TokenEmbedding, sentences: SentenceBatch) -> Tensor:
    """The definition with torch's own convolution, each sentence alone, padded to a filter's width if shorter."""
    token_VW = torch.cat([embedding.word_VW, embedding.type_KW])
    row_TD = torch.cat([token_VW[sentences.token_T], encoder.convolution.position(sentences)], 1)
    peaks = []
    for row_LD in row_TD.split(sentences.length_S.tolist()):
        peak = []
        for weight in encoder.convolution.weights:
            padding = row_LD.new_zeros(max(0, len(weight) - len(row_LD)), row_LD.shape[1])
            value = conv1d(torch.cat([row_LD, padding]).T, weight.permute(1, 2, 0))
            peak.append(value.amax(1))
        peaks.append(torch.cat(peak))
    return encoder.projection((torch.stack(peaks) + encoder.bias_F).relu()).relu()


@pytest.mark.parametrize("lengths", [LENGTHS, LONG, [1], [5]])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_it_equals_torch_convolution_on_each_sentence_alone(lengths, dtype, tolerance) -> None:
    encoder, sentences = make_encoder(dtype), make_sentences(lengths)
    embedding = make_embedding(dtype)
    expected = encode_one_by_one(encoder, embedding, sentences)
    torch.testing.assert_close(encoder(embedding, sentences), expected, atol=tolerance, rtol=tolerance)
    with torch.no_grad():
        torch.testing.assert_close(encoder(embedding, sentences), expected.detach(), atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("lengths", [LENGTHS, LONG])
def test_its_gradients_equal_those_of_torch_convolution(lengths: list[int]) -> None:
    encoder, sentences = make_encoder(), make_sentences(lengths)
    embedding = make_embedding()
    factor = torch.randn(len(lengths), 6, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    learned = [*encoder.parameters(), embedding.type_KW]
    got = torch.autograd.grad((encoder(embedding, sentences) * factor).sum(), learned)
    expected = torch.autograd.grad((encode_one_by_one(encoder, embedding, sentences) * factor).sum(), learned)
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a, b, atol=1e-12, rtol=1e-10)


def test_no_sentences_give_no_vectors_and_no_gradient() -> None:
    encoder = make_encoder()
    vector_SD = encoder(make_embedding(), make_sentences([]))
    assert vector_SD.shape == (0, 6)
    vector_SD.sum().backward()
    assert all(p.grad is None or not p.grad.any() for p in encoder.parameters())


def test_a_value_that_is_not_a_number_reaches_the_vectors_instead_of_crashing() -> None:
    encoder, sentences = make_encoder(), make_sentences([7, 6])
    embedding = make_embedding()
    embedding.word_VW[sentences.token_T[1]] = torch.nan
    assert sentences.token_T[1] < NUM_WORDS
    assert sentences.token_T[1] not in sentences.token_T[7:]
    vector_SD = encoder(embedding, sentences)
    vector_SD.sum().backward()
    assert vector_SD[0].isnan().all()
    assert vector_SD[1].isfinite().all()


def test_dropout_changes_training_only_and_repeats_with_its_generator() -> None:
    from sayso.model.extractor import ModelConfig

    extractor = make_extractor(ModelConfig(encoder=CnnConfig(num_filters=8, output_width=6, dropout=0.5)))
    sentences = make_sentences(LENGTHS)
    plain = extractor.encode(sentences)
    assert extractor.encode(sentences).equal(plain)
    extractor.train().use_generator(torch.Generator().manual_seed(5))
    first = extractor.encode(sentences)
    assert not first.equal(plain)
    extractor.use_generator(torch.Generator().manual_seed(5))
    assert extractor.encode(sentences).equal(first)


@pytest.mark.parametrize("settings", [{"widths": ()}, {"widths": (0, 2)}, {"widths": (3, 3)}, {"dropout": 1.0}])
def test_settings_out_of_range_are_refused(settings) -> None:
    with pytest.raises(BadConfigError):
        CnnConfig(**settings)
