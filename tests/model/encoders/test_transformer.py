from pathlib import Path

import pytest
import torch

from sayso.errors import BadConfigError
from sayso.model.encoders.base import ModelTables
from sayso.model.encoders.transformer import TransformerConfig, TransformerEncoder
from sayso.model.extractor import ModelConfig
from sayso.model.pretrained import read_pretrained
from toy_batch import NUM_TYPES, NUM_WORDS, make_batch, make_extractor, make_sentences
from toy_encoder import KINDS, SHAPE, write_encoder

LENGTHS = [7, 1, 12, 2, 30, 4, 5, 9]


def encoder_of(**settings: object) -> TransformerEncoder:
    encoder = make_extractor(ModelConfig(encoder=TransformerConfig(**settings))).encoder  # type: ignore[arg-type]
    assert isinstance(encoder, TransformerEncoder)
    return encoder


def pretrained_encoder(folder: Path, freeze_layers: int = 0) -> TransformerEncoder:
    pretrained = read_pretrained(folder, [f"w{number}" for number in range(NUM_WORDS)], ["/other", "/a", "/b", "/c"])
    tables = ModelTables(word_VW=torch.zeros(NUM_WORDS, 0), num_types=NUM_TYPES, num_relations=2, pretrained=pretrained)
    config = TransformerConfig(folder=str(folder), freeze_layers=freeze_layers, output_width=8)
    encoder = TransformerEncoder(config, tables, torch.Generator().manual_seed(0))
    encoder.load_pretrained()
    return encoder.eval()


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
    encoder.keep_frozen([make_sentences(LENGTHS)], 10**6)
    assert encoder.lower is not None
    encoder.lower.forward = None  # type: ignore[assignment]
    torch.testing.assert_close(encoded(encoder), plain)


def test_nothing_is_kept_beyond_the_memory_allowed(tmp_path: Path) -> None:
    encoder = pretrained_encoder(write_encoder(tmp_path / "encoder"), freeze_layers=2)
    encoder.keep_frozen([make_sentences(LENGTHS)], 0)
    assert encoder._kept is not None
    assert not encoder._kept._state


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
    layout = encoder._lay_out(batch.sentences)
    row_UH, step = encoder._input_vectors(layout).detach(), torch.tensor(1e-6, dtype=torch.float64)
    for token in range(0, len(score_T), 3):
        scale_U = torch.where(layout.token_U == token, step, 0.0)[:, None]
        high, low = (encoder._vectors(layout, row_UH * (1 + sign * scale_U)) for sign in (1, -1))
        expected = float(((high - low) * gradient_SD).sum().detach() / (2 * step))
        assert float(score_T[token]) == pytest.approx(expected, abs=1e-8)


def test_long_sentences_are_cut_to_the_encoders_own_limit() -> None:
    assert encoder_of(max_length=8_192).max_length == SHAPE["max_position_embeddings"]
    encoder = encoder_of(max_length=16)
    assert int(encoder._lay_out(make_sentences([60, 3])).length_S.max()) <= 16


def test_new_words_can_be_read_at_any_time() -> None:
    encoder, sentences = encoder_of(), make_sentences([3])
    encoder(None, sentences)
    number = encoder.pretrained.subwords.numbering["borning"]
    sentences.token_T[1] = number
    layout = encoder._lay_out(sentences)
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
