from pathlib import Path

import pytest
import torch
from torch import nn

from sayso.errors import BadConfigError
from sayso.model.encoders import transformer
from sayso.model.encoders.base import ModelTables
from sayso.model.encoders.transformer import TransformerConfig, TransformerEncoder
from sayso.model.extractor import ModelConfig
from sayso.model.layers import LibraryDropout
from sayso.model.pretrained import read_pretrained
from sayso.model.subword_reads import KeptStates, reads_of
from toy_batch import NUM_TYPES, NUM_WORDS, make_batch, make_extractor, make_sentences
from toy_encoder import KINDS, SHAPE, write_encoder

LENGTHS = [7, 1, 12, 2, 30, 4, 5, 9]


def encoder_of(**settings: object) -> TransformerEncoder:
    encoder = make_extractor(ModelConfig(encoder=TransformerConfig(**settings))).encoder  # type: ignore[arg-type]
    assert isinstance(encoder, TransformerEncoder)
    return encoder


def pretrained_encoder(folder: Path, freeze_layers: int = 0, **settings: object) -> TransformerEncoder:
    return new_encoder(folder, freeze_layers, **settings).eval()


def new_encoder(folder: Path, freeze_layers: int = 0, **settings: object) -> TransformerEncoder:
    pretrained = read_pretrained(folder, [f"w{number}" for number in range(NUM_WORDS)], ["/other", "/a", "/b", "/c"])
    tables = ModelTables(word_VW=torch.zeros(NUM_WORDS, 0), num_types=NUM_TYPES, num_relations=2, pretrained=pretrained)
    config = TransformerConfig(folder=str(folder), freeze_layers=freeze_layers, output_width=8, **settings)  # type: ignore[arg-type]
    encoder = TransformerEncoder(config, tables, torch.Generator().manual_seed(0))
    encoder.load_pretrained()
    return encoder


def encoded(encoder: TransformerEncoder) -> torch.Tensor:
    with torch.no_grad():
        vector: torch.Tensor = encoder(None, make_sentences(LENGTHS))
    return vector


@pytest.mark.parametrize("kind", KINDS)
def test_frozen_layers_change_nothing_but_what_is_trained(kind: str, tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / "encoder", kind)
    whole = encoded(pretrained_encoder(folder))
    for freeze_layers in (1, SHAPE["num_hidden_layers"]):
        encoder = pretrained_encoder(folder, freeze_layers)
        torch.testing.assert_close(encoded(encoder), whole, atol=1e-5, rtol=1e-5)
        encoder(None, make_sentences(LENGTHS)).sum().backward()
        assert encoder.lower is not None
        assert not any(parameter.grad is not None for parameter in encoder.lower.parameters())
        assert bool(encoder.pretrained_parameters()) == (freeze_layers < SHAPE["num_hidden_layers"])


def test_kept_states_give_the_same_vectors_without_reading_again(tmp_path: Path) -> None:
    encoder = pretrained_encoder(write_encoder(tmp_path / "encoder"), freeze_layers=2)
    plain = encoded(encoder)
    kept = KeptStates()
    encoder.keep_frozen([make_sentences(LENGTHS)], kept, 10**6)
    assert encoder.lower is not None
    encoder.lower.forward = None  # type: ignore[assignment]
    torch.testing.assert_close(encoded(encoder), plain)
    # What one training has kept, the next need not read.
    encoder.keep_frozen([make_sentences(LENGTHS)], kept, 10**6)
    assert kept.num_bytes == sum(state.numel() * state.element_size() for state in kept._state.values()) > 0


def test_kept_states_are_without_dropout(tmp_path: Path) -> None:
    encoder, kept = new_encoder(write_encoder(tmp_path / "encoder"), freeze_layers=2), KeptStates()
    encoder.keep_frozen([make_sentences(LENGTHS)], kept, 10**6)
    found = encoded(encoder.eval())
    encoder._kept = None
    torch.testing.assert_close(found, encoded(encoder))


@pytest.mark.parametrize("reading", ["markers", "spans"])
@pytest.mark.parametrize("freeze_layers", [0, 1])
@pytest.mark.parametrize("kind", ["bert", "mpnet"])
def test_training_in_threads_gives_the_gradients_of_the_whole_batch(
    kind: str, freeze_layers: int, reading: str, tmp_path: Path
) -> None:
    encoder = pretrained_encoder(write_encoder(tmp_path / "encoder", kind), freeze_layers, reading=reading)
    found = []
    for is_training in (False, True):
        # In evaluation mode, nothing is divided among threads; without dropout, the modes are equal.
        for module in encoder.modules():
            if isinstance(module, LibraryDropout):
                module.p = 0.0
        encoder.dropout.num_dropped = 0
        encoder.train(is_training)
        vector_SD = encoder(None, make_sentences(LENGTHS))
        used = encoder.pretrained_parameters()
        found.append([vector_SD, *torch.autograd.grad(vector_SD.square().sum(), used, allow_unused=True)])
    for divided, whole in zip(found[1], found[0], strict=True):
        torch.testing.assert_close(divided, whole, atol=1e-5, rtol=1e-4)


def test_training_does_not_depend_on_the_number_of_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transformer, "has_fast_bf16", lambda _: True)
    encoder = new_encoder(write_encoder(tmp_path / "encoder"), freeze_layers=1)
    encoder.precision, encoder.dropout.num_dropped = "bf16", 0
    before, found = torch.get_num_threads(), []
    try:
        for num_threads in (1, 3):
            torch.set_num_threads(num_threads)
            torch.manual_seed(7)
            vector_SD = encoder.train()(None, make_sentences(LENGTHS * 3))
            found.append([vector_SD, *torch.autograd.grad(vector_SD.square().sum(), encoder.pretrained_parameters())])
    finally:
        torch.set_num_threads(before)
    assert all(one.equal(other) for one, other in zip(*found, strict=True))
    torch.manual_seed(8)
    assert not encoder(None, make_sentences(LENGTHS * 3)).equal(found[0][0])


def test_nothing_is_kept_beyond_the_memory_allowed(tmp_path: Path) -> None:
    encoder = pretrained_encoder(write_encoder(tmp_path / "encoder"), freeze_layers=2)
    kept = KeptStates()
    encoder.keep_frozen([make_sentences(LENGTHS)], kept, 0)
    assert not kept._state


def test_weights_come_from_the_folder_and_frozen_ones_stay_in_evaluation_mode(tmp_path: Path) -> None:
    first = pretrained_encoder(write_encoder(tmp_path / "a"), freeze_layers=1)
    other = pretrained_encoder(write_encoder(tmp_path / "b", seed=1), freeze_layers=1)
    assert not encoded(first).allclose(encoded(other))
    first.train()
    assert first.upper is not None
    assert first.lower is not None
    assert (first.upper.training, first.lower.training) == (True, False)


def test_markers_are_added_where_the_vocabulary_has_no_unused_tokens(tmp_path: Path) -> None:
    encoder = pretrained_encoder(write_encoder(tmp_path / "encoder", has_unused=False))
    special = encoder.pretrained.subwords.tokenizer.special
    vector_VH = encoder.networks[0].get_input_embeddings().weight  # type: ignore[operator]
    assert special.tail_end == len(vector_VH) - 1
    torch.testing.assert_close(vector_VH[special.head_begin], vector_VH[: special.head_begin].mean(0))
    assert bool(encoded(encoder).isfinite().all())


def test_shared_sentences_are_read_once_and_give_the_same_vectors() -> None:
    lengths = [7, 1, 12, 2, 4, 5, 9]
    encoder, sentences = encoder_of(reading="spans"), make_sentences(lengths)
    twice = type(sentences)(
        **{
            name: torch.cat([getattr(sentences, name)] * 2)
            for name in ("token_T", "head_distance_T", "tail_distance_T", "piece_T")
        },
        start_S1=torch.cat([sentences.start_S1, sentences.start_S1[1:] + sentences.start_S1[-1]]),
    )
    # The same texts with other mentions.
    twice.head_distance_T[len(sentences.token_T) :] = sentences.tail_distance_T
    seen: list[int] = []
    assert encoder.upper is not None
    encoder.upper.register_forward_hook(
        lambda _, args, kwargs, __: seen.append(len(kwargs["inputs_embeds"])), with_kwargs=True
    )
    together = encoder(None, twice)
    assert sum(seen) == len(lengths)
    torch.testing.assert_close(together[: len(lengths)], encoder(None, sentences))
    torch.testing.assert_close(together[len(lengths) :], encoder(None, twice.slice(len(lengths), 2 * len(lengths))))


@pytest.mark.parametrize("reading", ["markers", "spans"])
@pytest.mark.parametrize("freeze_layers", [0, 1])
def test_word_scores_are_derivatives_of_scaled_input_vectors(reading: str, freeze_layers: int) -> None:
    extractor = make_extractor(
        ModelConfig(encoder=TransformerConfig(reading=reading, freeze_layers=freeze_layers))  # type: ignore[arg-type]
    )
    encoder = extractor.encoder
    assert isinstance(encoder, TransformerEncoder)
    batch = make_batch([2, 1])
    gradient_SD = torch.randn(3, encoder.width, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    score_T = encoder.token_scores(extractor.embedding, batch.sentences, gradient_SD)
    layout = encoder.lay_out(batch.sentences)
    reads, step = reads_of(layout, is_shared=False), torch.tensor(1e-6, dtype=torch.float64)
    row_UH = encoder._input_vectors(reads).detach()
    for token in range(0, len(score_T), 3):
        scale_U = torch.where(layout.token_U == token, step, 0.0)[:, None]
        high, low = (encoder._vectors(reads, row_UH * (1 + sign * scale_U)) for sign in (1, -1))
        expected = float(((high - low) * gradient_SD).sum().detach() / (2 * step))
        assert float(score_T[token]) == pytest.approx(expected, abs=1e-8)


def test_long_sentences_are_cut_to_the_encoders_own_limit() -> None:
    assert encoder_of(max_length=8_192).max_length == SHAPE["max_position_embeddings"]
    encoder = encoder_of(max_length=16)
    assert int(encoder.lay_out(make_sentences([60, 3])).length_S.max()) <= 16


def test_new_words_can_be_read_at_any_time() -> None:
    encoder, sentences = encoder_of(), make_sentences([3])
    encoder(None, sentences)
    number = encoder.pretrained.subwords.numbering["borning"]
    sentences.token_T[1] = number
    layout = encoder.lay_out(sentences)
    expected = encoder.pretrained.subwords.tokenizer.split(["borning"]).value.tolist()
    assert layout.id_U[layout.token_U == 1].tolist() == expected


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(BadConfigError, match="has only 3 layers, got 4"):
        encoder_of(freeze_layers=4)
    tables = ModelTables(word_VW=torch.zeros(1, 0), num_types=0, num_relations=1)
    with pytest.raises(BadConfigError, match="folder is not set"):
        TransformerEncoder(TransformerConfig(), tables, torch.Generator())


def test_weights_are_drawn_from_the_seed_alone() -> None:
    torch.manual_seed(1)
    first = encoder_of().state_dict()
    torch.manual_seed(2)
    second = encoder_of().state_dict()
    assert all(first[name].equal(second[name]) for name in first)


@pytest.mark.parametrize("kind", KINDS)
def test_attention_gives_the_same_vectors_in_training_and_has_no_dropout(kind: str, tmp_path: Path) -> None:
    encoder = pretrained_encoder(write_encoder(tmp_path / "encoder", kind))
    plain = encoded(encoder)
    for module in encoder.modules():
        if isinstance(module, nn.Dropout):
            assert isinstance(module, LibraryDropout)
            module.p = 0.0
    encoder.dropout.num_dropped = 0
    torch.testing.assert_close(encoded(encoder.train()), plain, atol=1e-5, rtol=1e-5)


def test_half_precision_on_cpu_stays_close(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = pretrained_encoder(write_encoder(tmp_path / "encoder"))
    plain = encoded(encoder)
    encoder.precision = "bf16"
    monkeypatch.setattr(transformer, "has_fast_bf16", lambda _: False)
    assert encoded(encoder).equal(plain)
    monkeypatch.setattr(transformer, "has_fast_bf16", lambda _: True)
    half = encoded(encoder)
    assert half.dtype == torch.float32
    assert not half.equal(plain)
    torch.testing.assert_close(half, plain, atol=0.05, rtol=0.05)


@pytest.mark.parametrize("reading", ["markers", "spans"])
@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "electra"])
def test_reading_without_padding_gives_the_same_vectors_and_gradients(
    kind: str, reading: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = pretrained_encoder(write_encoder(tmp_path / "encoder", kind), freeze_layers=1, reading=reading)
    found = []
    for packs in (False, True):
        # On a GPU it is the way to read in half precision; here, in single precision, it can be compared exactly.
        monkeypatch.setattr(TransformerEncoder, "_packs", packs)
        vector_SD = encoder(None, make_sentences(LENGTHS))
        found.append([vector_SD, *torch.autograd.grad(vector_SD.square().sum(), encoder.pretrained_parameters())])
    for padded, packed in zip(*found, strict=True):
        torch.testing.assert_close(packed, padded, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_encoders_with_an_attention_of_their_own_are_padded(kind: str, tmp_path: Path) -> None:
    encoder = pretrained_encoder(write_encoder(tmp_path / "encoder", kind))
    assert encoder.can_pack is (kind not in ("mpnet", "deberta", "deberta-v2"))


def test_scores_of_words_belong_to_their_own_sentence_if_texts_are_equal() -> None:
    extractor = make_extractor(ModelConfig(encoder=TransformerConfig(reading="spans")))
    encoder, one = extractor.encoder, make_batch([1]).sentences
    columns = ("token_T", "head_distance_T", "tail_distance_T", "piece_T")
    both = {name: torch.cat([getattr(one, name)] * 2) for name in columns}
    two = type(one)(**both, start_S1=torch.cat([one.start_S1, one.start_S1[1:] + one.start_S1[-1]]))
    gradient_SD = torch.ones(2, encoder.width, dtype=torch.float64)
    first, second = encoder.token_scores(extractor.embedding, two, gradient_SD).chunk(2)
    torch.testing.assert_close(first, second)
    assert float(first.abs().sum()) > 0


@pytest.mark.parametrize("kind", KINDS)
def test_quantized_vectors_stay_close_and_gradients_are_those_of_the_original_weights(
    kind: str, tmp_path: Path
) -> None:
    encoder = pretrained_encoder(write_encoder(tmp_path / "encoder", kind), freeze_layers=1)
    sentences, gradient_SD = make_sentences(LENGTHS), torch.ones(len(LENGTHS), encoder.width)
    plain, scores = encoded(encoder), encoder.token_scores(None, sentences, gradient_SD)
    encoder.quantize()
    found = encoded(encoder)
    assert not found.equal(plain)
    assert float((found - plain).norm() / plain.norm()) < 0.05
    torch.testing.assert_close(encoder.token_scores(None, sentences, gradient_SD), scores)
    linear = [each for network in encoder._quantized.values() for each in network.modules() if type(each) is nn.Linear]
    assert not linear
