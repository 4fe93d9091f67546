import pytest
import torch

from model.plain import plain_logits
from model.variants import VARIANTS, WIDTH
from sayso.errors import BadConfigError, UserError
from sayso.model.aggregators.direct import DirectConfig
from sayso.model.encoders.base import EncoderConfig
from sayso.model.encoders.cnn import CnnConfig
from sayso.model.encoders.pcnn import PcnnConfig
from sayso.model.extractor import Extractor, ModelConfig, ModelTables, num_parameters, refuse_too_large
from toy_batch import make_bags, make_batch, make_extractor, make_vectors

TABLES = ModelTables(
    word_VW=torch.randn(9, 3, generator=torch.Generator().manual_seed(0)), num_types=2, num_relations=4
)


@pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)
def test_logits_equal_those_written_down_bag_by_bag(config: ModelConfig) -> None:
    extractor, bags = make_extractor(config), make_bags([1, 3, 1, 6, 2])
    vector_ND = make_vectors(13, WIDTH)
    torch.testing.assert_close(
        extractor.classify(vector_ND, bags), plain_logits(extractor, vector_ND, bags), atol=1e-12, rtol=1e-12
    )


@pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)
def test_gradients_equal_those_of_the_plain_form(config: ModelConfig) -> None:
    extractor, bags = make_extractor(config), make_bags([1, 3, 6])
    vector_ND = make_vectors(10, WIDTH).requires_grad_()
    learned = [vector_ND, *extractor.aggregator.parameters(), *extractor.scorer.parameters()]
    losses = (f(vector_ND, bags).sigmoid().sum() for f in (extractor.classify, lambda *a: plain_logits(extractor, *a)))
    got, expected = (torch.autograd.grad(loss, learned) for loss in losses)
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a, b, atol=1e-12, rtol=1e-9)


def test_the_forward_pass_is_encoding_then_classifying_the_bags_sentences() -> None:
    extractor, batch = make_extractor(VARIANTS["attention+E"]), make_batch([2, 1, 3])
    vector_SD = extractor.encode(batch.sentences)
    torch.testing.assert_close(extractor(batch), extractor.classify(vector_SD, batch.bags))


def test_every_parameter_learns_and_no_frozen_table_does() -> None:
    for name, config in VARIANTS.items():
        extractor, batch = make_extractor(config), make_batch([2, 1, 3, 4])
        extractor(batch).square().sum().backward()
        idle = [key for key, p in extractor.named_parameters() if p.grad is None or not p.grad.any()]
        assert not idle, name
        assert {key for key, _ in extractor.named_buffers()} <= {"embedding.word_VW", "scorer.entity.entity_EV"}


def test_the_seed_alone_decides_the_parameters() -> None:
    torch.manual_seed(1)
    first = Extractor(ModelConfig(), TABLES, seed=5).state_dict()
    torch.manual_seed(2)
    again = Extractor(ModelConfig(), TABLES, seed=5).state_dict()
    other = Extractor(ModelConfig(), TABLES, seed=6).state_dict()
    assert all(again[key].equal(value) for key, value in first.items())
    assert not other["encoder.convolution.weights.0"].equal(first["encoder.convolution.weights.0"])


def test_building_a_model_leaves_the_global_generator_alone() -> None:
    before = torch.random.get_rng_state()
    Extractor(ModelConfig(), TABLES, seed=5)
    assert torch.random.get_rng_state().equal(before)


def test_a_fresh_model_gives_facts_about_the_initial_probability() -> None:
    extractor = make_extractor(ModelConfig(initial_probability=0.02))
    assert torch.sigmoid(extractor.scorer.bias_R).tolist() == pytest.approx([0.02] * 5)


def test_entities_without_vectors_are_refused() -> None:
    with pytest.raises(BadConfigError, match="entity vectors"):
        Extractor(ModelConfig(use_entities=True), TABLES, seed=0)


def test_settings_of_no_known_kind_are_refused() -> None:
    with pytest.raises(BadConfigError, match="choose one of cnn, pcnn"):
        Extractor(ModelConfig(encoder=EncoderConfig()), TABLES, seed=0)


SMALL_TABLES = ModelTables(word_VW=torch.ones(7, 4), num_types=3, num_relations=5, entity_EV=torch.ones(6, 2))


@pytest.mark.parametrize(
    "config",
    [ModelConfig(), ModelConfig(encoder=PcnnConfig(), aggregator=DirectConfig()), ModelConfig(use_entities=True)],
    ids=["CNNs+ATT", "DirectSup(PCNN)", "CNNs+ATT+E"],
)
def test_the_size_is_that_of_the_model_itself(config: ModelConfig) -> None:
    extractor = Extractor(config, SMALL_TABLES, seed=0)
    assert num_parameters(config, SMALL_TABLES) == sum(parameter.numel() for parameter in extractor.parameters())


def test_a_model_that_would_not_fit_is_refused_before_it_is_built() -> None:
    # 10,000 filters of each width, over 4 numbers of a word and 2,000 of its position: far beyond any memory.
    config = ModelConfig(
        encoder=CnnConfig(widths=tuple(range(1, 101)), num_filters=10_000, output_width=10_000, position_width=1_000)
    )
    with pytest.raises(
        UserError, match=r"^a model with [\d,]+ parameters needs about [\d,.]+ GB of memory, but .* available: "
    ):
        refuse_too_large(config, SMALL_TABLES, available=10**11)


def test_every_copy_of_the_parameters_counts() -> None:
    num_bytes = 4 * num_parameters(ModelConfig(), SMALL_TABLES)
    refuse_too_large(ModelConfig(), SMALL_TABLES, copies=3, available=3 * num_bytes)
    with pytest.raises(UserError):
        refuse_too_large(ModelConfig(), SMALL_TABLES, copies=3, available=3 * num_bytes - 1)
