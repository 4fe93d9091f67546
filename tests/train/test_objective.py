"""The loss against plain loops, and the distractor term against differentiating twice."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from model.plain import plain_bag_logits
from model.variants import VARIANTS
from sayso.features.batch import BagBatch, LabelBatch, MarkBatch
from sayso.model.aggregators.direct import Direct
from sayso.model.extractor import Extractor, ModelConfig
from sayso.train import objective as objective_module
from sayso.train.config import LossConfig
from sayso.train.epoch import ProcessShard
from sayso.train.objective import (
    Objective,
    augmented_bags,
    bag_term,
    distractor_term,
    incomplete_term,
    mark_ranking_term,
    mark_score_term,
    sentence_term,
)
from toy_batch import NUM_RELATIONS, make_batch, make_extractor, make_sentences

SIZES = [1, 3, 5, 2]
# (bag, relation) of each distractor: one bag has two, one has none.
DISTRACTED = [(0, 2), (1, 0), (1, 4), (3, 1)]
NUM_DIRECT = 3

over_variants = pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)


def training_batch() -> BagBatch:
    """Return bags with distractors, and directly supervised sentences after them."""
    num_own, num_distractors = sum(SIZES), len(DISTRACTED)
    lengths = torch.randint(
        2, 12, (num_own + num_distractors + NUM_DIRECT,), generator=torch.Generator().manual_seed(5)
    )
    target_S = torch.full((len(lengths),), torch.nan, dtype=torch.float64)
    target_S[:1] = 0.0
    target_S[-NUM_DIRECT:] = torch.tensor([1.0, 0.0, 0.7], dtype=torch.float64)
    return replace(
        make_batch(SIZES, seed=4),
        sentences=make_sentences(lengths.tolist(), seed=6),
        distractor_bag_M=torch.tensor([bag for bag, _ in DISTRACTED]),
        distractor_relation_M=torch.tensor([relation for _, relation in DISTRACTED]),
        target_S=target_S,
        label_BR=make_batch(SIZES, seed=4).label_BR.double(),
    )


def cross_entropy(logit: Tensor, target: Tensor) -> Tensor:
    """The definition, for one logit."""
    return -(target * logit.sigmoid().log() + (1 - target) * (1 - logit.sigmoid()).log())


def plain_measure(
    extractor: Extractor, vector_nD: Tensor, batch: BagBatch, bag: int, relation: int, measure: str
) -> Tensor:
    """The definition, for one bag and one relation, by a backward pass that can be differentiated itself."""
    logit = plain_bag_logits(extractor, vector_nD, batch.bags, bag)[relation]
    (gradient_nD,) = torch.autograd.grad(logit, vector_nD, create_graph=True)
    if measure == "saliency":
        return gradient_nD.abs().sum(1)
    score_n = (vector_nD * gradient_nD).sum(1)
    return score_n.relu() if measure == "positive_part" else score_n


def plain_distractor_term(extractor: Extractor, batch: BagBatch, measure: str, margin: float) -> Tensor:
    """Σ max(0, γ + GI(s′) − max GI) + |GI(s′)|: each distractor is appended to a copy of its bag."""
    vector_SD = extractor.encode(batch.sentences)
    total = vector_SD.new_zeros(())
    for number, (bag, relation) in enumerate(DISTRACTED):
        own = [vector_SD[n] for n in range(sum(SIZES)) if int(batch.bags.bag_N[n]) == bag]
        augmented_nD = torch.stack([*own, vector_SD[sum(SIZES) + number]])
        score_n = plain_measure(extractor, augmented_nD, batch, bag, relation, measure)
        total = total + (margin + score_n[-1] - score_n[:-1].max()).relu() + score_n[-1].abs()
    return total


def plain_terms(extractor: Extractor, batch: BagBatch, config: LossConfig) -> dict[str, Tensor]:
    """The whole loss, bag by bag and sentence by sentence."""
    vector_SD = extractor.encode(batch.sentences)
    bag = vector_SD.new_zeros(())
    for b in range(len(SIZES)):
        logit_R = plain_bag_logits(extractor, vector_SD[: sum(SIZES)][batch.bags.bag_N == b], batch.bags, b)
        bag = bag + sum(cross_entropy(logit_R[k], batch.label_BR[b, k]) for k in range(NUM_RELATIONS))
    terms = {"bag": bag / len(SIZES)}
    if isinstance(extractor.aggregator, Direct):
        judged = [s for s in range(len(vector_SD)) if not bool(batch.target_S[s].isnan())]
        classifier = extractor.aggregator.classifier
        logits = {s: classifier.output(classifier.hidden(vector_SD[s]).relu())[0] for s in judged}
        losses = [cross_entropy(logits[s], batch.target_S[s]) for s in judged]
        terms["sentence"] = config.sentence * sum(losses) / len(judged)
    distractor = plain_distractor_term(extractor, batch, config.distractor_measure, config.margin)
    terms["distractor"] = config.distractor * distractor / len(SIZES)
    return terms


def gradients(loss: Tensor, extractor: Extractor) -> dict[str, Tensor]:
    names, parameters = zip(*extractor.named_parameters(), strict=True)
    found = torch.autograd.grad(loss, parameters, allow_unused=True)
    return {n: torch.zeros_like(p) if g is None else g for n, p, g in zip(names, parameters, found, strict=True)}


def assert_same(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-9, atol=1e-9, msg=lambda text, n=name: f"{n}: {text}")


@pytest.mark.parametrize("measure", ["gradient_x_input", "positive_part", "saliency"])
@over_variants
def test_every_term_and_its_gradient_equal_plain_loops(config: ModelConfig, measure: str) -> None:
    loss = LossConfig(sentence=0.5, distractor=2.0, margin=0.3, distractor_measure=measure)  # type: ignore[arg-type]
    extractor, batch = make_extractor(config, seed=2), training_batch()
    num_targets = int((~batch.target_S.isnan()).sum())
    found = Objective(extractor, loss)(batch, len(SIZES), num_targets)
    expected = plain_terms(extractor, batch, loss)
    assert_same(found, expected)
    for name in expected:
        assert_same(gradients(found[name], extractor), gradients(expected[name], extractor))
        found = Objective(extractor, loss)(batch, len(SIZES), num_targets)
        expected = plain_terms(extractor, batch, loss)
    whole, plain = sum(found.values()), sum(expected.values())
    assert_same(gradients(whole, extractor), gradients(plain, extractor))  # type: ignore[arg-type]


def logits_and_labels() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    logit_BR = torch.randn(40, 3, generator=generator, dtype=torch.float64).requires_grad_()
    return logit_BR, (torch.rand(40, 3, generator=generator) < 0.2).double()


def test_where_the_knowledge_base_is_complete_the_pu_risk_is_the_cross_entropy() -> None:
    logit_BR, label_BR = logits_and_labels()
    found = incomplete_term(logit_BR, label_BR, torch.ones(40, 3), 1.0, ProcessShard())
    torch.testing.assert_close(found, 40 * bag_term(logit_BR, label_BR, 40))


@pytest.mark.parametrize("known_share", [0.9, 0.5, 0.05])
def test_the_pu_risk_is_that_of_the_paper_with_the_prior_of_the_known_share(known_share: float) -> None:
    logit_BR, label_BR = logits_and_labels()
    expected = logit_BR.new_zeros(())
    for logit_B, label_B in zip(logit_BR.T, label_BR.T, strict=True):
        positive = logit_B[label_B == 1]
        prior = len(positive) / 40 / known_share
        risk = (-logit_B.neg().sigmoid().log()).mean() - prior * (-positive.neg().sigmoid().log()).mean()
        expected = expected + prior * (-positive.sigmoid().log()).mean() + max(risk, risk * 0)
    found = incomplete_term(logit_BR, label_BR, torch.ones(40, 3), known_share, ProcessShard())
    torch.testing.assert_close(found, 40 * expected)
    gradients_of = [torch.autograd.grad(value, logit_BR, retain_graph=True)[0] for value in (found, 40 * expected)]
    torch.testing.assert_close(*gradients_of)


def test_a_negative_risk_is_not_learned_from_and_its_sign_is_that_of_all_shards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logit_BR = torch.tensor([[3.0], [-2.0]], requires_grad=True)
    label_BR = torch.tensor([[1.0], [0.0]])
    alone = incomplete_term(logit_BR, label_BR, torch.ones(2, 1), 0.5, ProcessShard())
    assert torch.autograd.grad(alone, logit_BR)[0][1] == 0
    monkeypatch.setattr(objective_module, "sum_over_shards", lambda value, shard: value + 10)
    together = incomplete_term(logit_BR, label_BR, torch.ones(2, 1), 0.5, ProcessShard(0, 2))
    assert torch.autograd.grad(together, logit_BR)[0][1] > 0


def test_weights_apply_to_facts_that_are_not_known() -> None:
    logit_BR, label_BR = logits_and_labels()
    weight_BR = torch.rand(40, 3, generator=torch.Generator().manual_seed(1)).double()
    found = incomplete_term(logit_BR, label_BR, weight_BR, 1.0, ProcessShard())
    loss_BR = torch.nn.functional.binary_cross_entropy_with_logits(logit_BR, label_BR, reduction="none")
    torch.testing.assert_close(found, (torch.where(label_BR == 1, 1.0, weight_BR) * loss_BR).sum())


@over_variants
def test_the_gradient_is_that_of_small_changes(config: ModelConfig) -> None:
    extractor, batch = make_extractor(config, seed=2), training_batch()
    objective = Objective(extractor, LossConfig(distractor=1.0, margin=0.3))
    names, parameters = zip(*((n, p) for n, p in extractor.named_parameters() if p.numel()), strict=True)
    direction = [torch.randn(p.shape, dtype=p.dtype, generator=torch.Generator().manual_seed(1)) for p in parameters]

    def loss(step: float) -> Tensor:
        moved = {f"extractor.{n}": p + step * d for n, p, d in zip(names, parameters, direction, strict=True)}
        return sum(torch.func.functional_call(objective, moved, (batch, len(SIZES), 4)).values())  # type: ignore[return-value]

    found = torch.autograd.grad(loss(0.0), parameters)
    slope = sum((g * d).sum() for g, d in zip(found, direction, strict=True))
    with torch.no_grad():
        measured = (loss(1e-7) - loss(-1e-7)) / 2e-7
    torch.testing.assert_close(slope, measured, rtol=1e-5, atol=1e-6)


def test_relation_labels_teach_the_encoder_through_a_classifier_that_the_model_does_not_have() -> None:
    extractor, batch = make_extractor(VARIANTS["attention"], seed=2), training_batch()
    labels = LabelBatch(
        sentence_L=torch.tensor([14, 17]), label_L=torch.tensor([2, 0]), weight_L=torch.tensor([0.25, 0.75])
    )
    objective = Objective(extractor, LossConfig(direct_task="relations", direct_relations=3.0), 4, seed=1).double()
    found = objective(replace(batch, labels=labels), 4, 4)["direct_relations"]
    classifier = objective.label_classifier
    logit_LC = extractor.encode(batch.sentences)[[14, 17]] @ classifier.weight.T + classifier.bias
    expected_L = -logit_LC.log_softmax(1)[[0, 1], [2, 0]]
    torch.testing.assert_close(found, 3 * (0.25 * expected_L[0] + 0.75 * expected_L[1]))
    found.backward()
    assert classifier.weight.grad.abs().sum() > 0
    assert extractor.encoder.bias_F.grad.abs().sum() > 0
    assert extractor.scorer.relation_RD.grad is None


def test_a_term_of_weight_zero_is_not_computed() -> None:
    extractor, batch = make_extractor(VARIANTS["direct"]), training_batch()
    assert set(Objective(extractor, LossConfig(sentence=0.0))(batch, 4, 4)) == {"bag"}
    assert set(Objective(extractor, LossConfig())(batch, 4, 4)) == {"bag", "sentence"}


def test_the_bag_term_is_summed_over_relations_and_divided_by_the_bags_of_the_whole_batch() -> None:
    logit_BR = torch.tensor([[0.0, 2.0], [-1.0, 0.5]])
    label_BR = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    expected = sum(float(cross_entropy(logit_BR[b, k], label_BR[b, k])) for b in range(2) for k in range(2))
    assert float(bag_term(logit_BR, label_BR, 8)) == pytest.approx(expected / 8)


def test_the_sentence_term_is_a_mean_over_sentences_with_a_target() -> None:
    logit_S, target_S = torch.tensor([0.0, 3.0, -2.0]), torch.tensor([1.0, torch.nan, 0.0])
    expected = float(cross_entropy(logit_S[0], target_S[0]) + cross_entropy(logit_S[2], target_S[2])) / 2
    assert float(sentence_term(logit_S, target_S, 2)) == pytest.approx(expected)
    assert float(sentence_term(logit_S[:0], target_S[:0], 1)) == 0.0


def test_the_distractor_term_is_a_margin_below_the_best_sentence_and_a_distance_from_zero() -> None:
    own_M = torch.tensor([1.0, 1.0, 1.0])
    # Well below, above, and negative: |GI| alone; 2 + 0.1 - 1 and |2|; |-3| alone.
    assert float(distractor_term(torch.tensor([0.5, 2.0, -3.0]), own_M, 0.1).sum()) == pytest.approx(
        0.5 + 1.1 + 2.0 + 3.0
    )


def test_an_augmented_bag_is_the_kept_sentences_and_then_the_distractor() -> None:
    place_G, group_G = augmented_bags(training_batch())
    bags = [place_G[group_G == m].tolist() for m in range(len(DISTRACTED))]
    # Bags have sentences 0 | 1 2 3 | 4 5 6 7 8 | 9 10; distractors are 11 to 14.
    assert bags == [[0, 11], [1, 2, 3, 12], [1, 2, 3, 13], [9, 10, 14]]


def two_facts() -> MarkBatch:
    """Five marks: a fact with two rationales and an irrelevant sentence, and one with a single mark of each kind."""
    return MarkBatch(
        sentence_K=torch.tensor([0, 1, 2, 3, 4]),
        relation_K=torch.tensor([2, 2, 2, 0, 0]),
        target_K=torch.tensor([1.0, 0.0, 1.0, 1.0, 0.0]),
        weight_K=torch.full((5,), 1 / 5),
        rationale_P=torch.tensor([0, 2, 3]),
        irrelevant_P=torch.tensor([1, 1, 4]),
        weight_P=torch.tensor([1 / 4, 1 / 4, 1 / 2]),
    )


def test_the_mark_terms_are_a_mean_over_marks_and_a_mean_over_facts_of_the_mean_over_pairs() -> None:
    score_K = torch.tensor([0.5, -1.0, 2.0, 0.0, 3.0])
    expected = sum(float(cross_entropy(score_K[k], two_facts().target_K[k])) for k in range(5)) / 5
    assert float(mark_score_term(score_K, two_facts())) == pytest.approx(expected)
    first = (math.log1p(math.exp(-1.0 - 0.5)) + math.log1p(math.exp(-1.0 - 2.0))) / 2
    second = math.log1p(math.exp(3.0 - 0.0))
    assert float(mark_ranking_term(score_K, two_facts())) == pytest.approx((first + second) / 2)


@over_variants
def test_marks_teach_the_aggregators_own_scores(config: ModelConfig) -> None:
    extractor, batch = make_extractor(config, seed=2), replace(training_batch(), marks=two_facts().after(3))
    loss = LossConfig(sentence=0.0, mark_score=2.0, mark_ranking=3.0)
    terms = Objective(extractor, loss)(batch, 4, 4)
    assert set(terms) == {"bag", "mark_score", "mark_ranking"}
    vector_SD = extractor.encode(batch.sentences)
    score_SR = extractor.aggregator.own_score(vector_SD, extractor.scorer)
    score_K = score_SR[torch.arange(3, 8), two_facts().relation_K]
    assert terms["mark_score"].item() == pytest.approx(2.0 * mark_score_term(score_K, two_facts()).item())
    assert terms["mark_ranking"].item() == pytest.approx(3.0 * mark_ranking_term(score_K, two_facts()).item())
    before = terms["mark_ranking"].item()
    for parameter, gradient in zip(
        extractor.parameters(), gradients(terms["mark_ranking"], extractor).values(), strict=True
    ):
        parameter.data -= 0.01 * gradient
    assert Objective(extractor, loss)(batch, 4, 4)["mark_ranking"].item() < before


def test_with_attention_the_ranking_term_is_the_logarithm_of_a_share_of_two_weights() -> None:
    extractor, batch = make_extractor(VARIANTS["attention"], seed=2), make_batch([2], seed=4)
    vector_ND = extractor.encode(batch.sentences)
    weight_NR = extractor.aggregator.weigh(vector_ND, batch.bags, extractor.scorer)
    pair = MarkBatch(
        sentence_K=torch.tensor([0, 1]),
        relation_K=torch.tensor([1, 1]),
        target_K=torch.tensor([1.0, 0.0]),
        weight_K=torch.full((2,), 1 / 2),
        rationale_P=torch.tensor([0]),
        irrelevant_P=torch.tensor([1]),
        weight_P=torch.ones(1),
    )
    loss = LossConfig(mark_ranking=1.0)
    found = Objective(extractor, loss)(replace(batch, label_BR=batch.label_BR.double(), marks=pair), 1, 0)
    assert set(found) == {"bag", "mark_ranking"}
    assert found["mark_ranking"].item() == pytest.approx(-math.log(weight_NR[0, 1].item()))  # the two sum to one
