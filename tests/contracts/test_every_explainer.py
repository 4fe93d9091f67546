"""What every explainer promises, for every kind of bag model."""

import importlib
import pkgutil
from itertools import pairwise

import pytest
import torch
from torch import Tensor

import sayso.explain
from explain.decisive import AGGREGATORS, make_decisive
from model.variants import VARIANTS, WIDTH
from sayso.explain import EXPLAINERS
from sayso.explain.base import explain_all
from sayso.features.batch import BagIndex
from sayso.model.encoders.cnn import CnnConfig
from sayso.model.ensemble import Ensemble
from sayso.model.extractor import Extractor, ModelConfig
from toy_batch import NUM_RELATIONS, calibrate, make_bags, make_extractor, make_vectors

SIZES = [3, 1, 6, 1, 2]
over_explainers = pytest.mark.parametrize("name", EXPLAINERS)
Configs = tuple[ModelConfig, ...]
CASES: dict[str, Configs] = {
    **{name: (config,) for name, config in VARIANTS.items()},
    "ensemble": 3 * (VARIANTS["attention+E"],),
    "ensemble-noisy-or": 2 * (VARIANTS["noisy_or"],),
}
"""The config of each model, or of each member of an ensemble; the members of ensembles are calibrated."""
over_variants = pytest.mark.parametrize("configs", CASES.values(), ids=CASES)


def make_case(configs: Configs, sizes: list[int] = SIZES) -> tuple[Extractor, Tensor, BagIndex]:
    members = [make_extractor(config, seed) for seed, config in enumerate(configs)]
    if len(members) > 1:
        members = [calibrate(member, seed) for seed, member in enumerate(members)]
    extractor = members[0] if len(members) == 1 else Ensemble(members).eval()
    return extractor, make_vectors(sum(sizes), WIDTH * len(members)), make_bags(sizes)


def explain(name: str, extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    with torch.no_grad():
        return EXPLAINERS[name].explain(extractor, vector_ND, bags)


def test_every_explainer_of_the_folder_is_registered_under_its_name() -> None:
    names = [found.name for found in pkgutil.iter_modules(sayso.explain.__path__)]
    modules = {name: importlib.import_module(f"sayso.explain.{name}") for name in names}
    found = {name: module.EXPLAINER for name, module in modules.items() if hasattr(module, "EXPLAINER")}
    assert found == EXPLAINERS
    assert all(explainer.explain.__name__ == name for name, explainer in found.items())


@over_explainers
@over_variants
def test_there_is_one_finite_score_for_each_sentence_and_relation(name: str, configs: Configs) -> None:
    score_NR = explain(name, *make_case(configs))
    assert score_NR.shape == (sum(SIZES), NUM_RELATIONS)
    assert bool(score_NR.isfinite().all())
    assert bool(score_NR.any())


@over_variants
def test_all_together_give_what_each_gives_alone(configs: Configs) -> None:
    case = make_case(configs)
    with torch.no_grad():
        together = explain_all(EXPLAINERS, *case)
    assert list(together) == list(EXPLAINERS)
    assert all(score_NR.equal(explain(name, *case)) for name, score_NR in together.items())


@over_explainers
@over_variants
def test_the_model_and_its_gradients_stay_as_they_were(name: str, configs: Configs) -> None:
    extractor, vector_ND, bags = make_case(configs)
    before = {key: value.clone() for key, value in extractor.state_dict().items()}
    vector_before = vector_ND.clone()
    with_gradients = EXPLAINERS[name].explain(extractor, vector_ND, bags).detach()
    torch.testing.assert_close(explain(name, extractor, vector_ND, bags), with_gradients, atol=1e-12, rtol=1e-9)
    assert all(value.equal(before[key]) for key, value in extractor.state_dict().items())
    assert all(parameter.grad is None and parameter.requires_grad for parameter in extractor.parameters())
    assert vector_ND.equal(vector_before)
    assert vector_ND.grad is None
    assert not extractor.training


@over_explainers
@over_variants
def test_the_order_of_sentences_does_not_matter(name: str, configs: Configs) -> None:
    extractor, vector_ND, bags = make_case(configs)
    turned = torch.cat([part.flip(0) for part in torch.arange(sum(SIZES)).split(SIZES)])
    torch.testing.assert_close(
        explain(name, extractor, vector_ND[turned], bags), explain(name, extractor, vector_ND, bags)[turned]
    )


@over_explainers
@over_variants
def test_a_bag_alone_equals_the_bag_in_a_batch(name: str, configs: Configs) -> None:
    sizes = [3, 1, 12, 2]
    extractor, vector_ND, bags = make_case(configs, sizes)
    together = explain(name, extractor, vector_ND, bags)
    for b, (start, stop) in enumerate(pairwise([0, *torch.tensor(sizes).cumsum(0).tolist()])):
        index = BagIndex(bag_N=bags.bag_N[start:stop] - b, head_B=bags.head_B[[b]], tail_B=bags.tail_B[[b]])
        alone = explain(name, extractor, vector_ND[start:stop], index)
        torch.testing.assert_close(alone, together[start:stop], atol=1e-12, rtol=1e-9)


@over_explainers
@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize("use_entities", [False, True], ids=["-E", "+E"])
def test_a_planted_decisive_sentence_is_ranked_first(name: str, aggregator: str, use_entities: bool) -> None:
    extractor = make_decisive(aggregator, CnnConfig(output_width=WIDTH), torch.zeros(1, 4), use_entities)
    vector_ND = make_vectors(sum(SIZES), WIDTH).float()
    vector_ND[:, 0] = 0.0
    planted = [2, 3, 7, 10, 12]
    vector_ND[planted, 0] = 1.0
    bags = make_bags(SIZES)
    bags = BagIndex(bag_N=bags.bag_N, head_B=bags.head_B * 0, tail_B=bags.tail_B * 0)
    score_NR = explain(name, extractor, vector_ND, bags)
    best = [
        int(part.argmax()) + start for part, start in zip(score_NR[:, 0].split(SIZES), [0, 3, 4, 10, 11], strict=True)
    ]
    assert best == planted


@over_explainers
def test_signed_scores_fall_below_zero_and_the_others_never_do(name: str) -> None:
    lowest = min(float(explain(name, *make_case(configs)).min()) for configs in CASES.values())
    assert (lowest < 0) == EXPLAINERS[name].is_signed


@over_explainers
@over_variants
def test_no_bags_have_no_scores(name: str, configs: Configs) -> None:
    assert explain(name, *make_case(configs, [])).shape == (0, NUM_RELATIONS)


@pytest.mark.parametrize("name", [name for name in EXPLAINERS if name != "shapley"])
@over_variants
def test_a_bag_of_5000_sentences_has_finite_scores(name: str, configs: Configs) -> None:
    extractor, vector_ND, bags = make_case(configs, [5000, 1])
    assert bool(explain(name, extractor.float(), vector_ND.float(), bags).isfinite().all())
