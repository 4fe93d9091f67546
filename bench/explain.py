"""What explanations cost: the paper's four mechanisms for every sentence and relation, over a plain prediction pass.

Also beside automatic differentiation in a loop over the relations: as attribution libraries do it, with a run of the
whole model for each relation, and from sentence vectors that are held, with one run of the model for each removal.
Text and sizes are drawn, after FB-NYT: 53 relations, 40 tokens a sentence, most bags of one sentence, some of many.
"""

import json
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from measure import ratio_row
from sayso.explain import EXPLAINERS
from sayso.explain.from_autograd import score_gradients
from sayso.explain.removal import leave_one_out_by_removal
from sayso.features.batch import BagBatch, BagIndex, SentenceBatch
from sayso.model.aggregators.attention import AttentionConfig
from sayso.model.aggregators.direct import DirectConfig
from sayso.model.extractor import Extractor, ModelConfig, ModelTables

NUM_WORDS, WORD_WIDTH, NUM_RELATIONS, NUM_ENTITIES, ENTITY_WIDTH = 20_000, 100, 53, 500, 100
NUM_BAGS, MEAN_LENGTH = 400, 40
PAPER = ("attention", "saliency", "gradient_x_input", "leave_one_out")
PREDICTION_BUDGET, AUTOGRAD_BUDGET = 2.0, 0.05
REPEATS = 3
NUM_LOOPED = 2
"""Relations that the loop over runs of the whole model is timed on; all take the same time."""


def make_batch(generator: torch.Generator) -> BagBatch:
    """Return bags of drawn sentences: words by Zipf's law, sizes with a long tail, 2 sentences a bag in the mean."""
    size_B = torch.rand(NUM_BAGS, generator=generator).clamp(min=0.01).pow(-0.7).floor().long()
    num_sentences = int(size_B.sum())
    length_N = torch.randint(MEAN_LENGTH // 2, MEAN_LENGTH * 3 // 2, (num_sentences,), generator=generator)
    num_tokens = int(length_N.sum())
    frequency = 1.0 / torch.arange(1, NUM_WORDS + 1)
    head_T, tail_T = torch.randint(-30, 31, (2, num_tokens), generator=generator)
    head_B, tail_B = torch.randint(1, NUM_ENTITIES, (2, NUM_BAGS), generator=generator)
    nothing = torch.zeros(0, dtype=torch.long)
    return BagBatch(
        sentences=SentenceBatch(
            token_T=torch.multinomial(frequency, num_tokens, replacement=True, generator=generator),
            head_distance_T=head_T,
            tail_distance_T=tail_T,
            piece_T=torch.zeros(num_tokens, dtype=torch.long),
            start_S1=torch.cat([torch.zeros(1, dtype=torch.long), length_N.cumsum(0)]),
        ),
        bags=BagIndex(bag_N=torch.repeat_interleave(torch.arange(NUM_BAGS), size_B), head_B=head_B, tail_B=tail_B),
        label_BR=torch.zeros(NUM_BAGS, NUM_RELATIONS),
        distractor_bag_M=nothing,
        distractor_relation_M=nothing,
        target_S=torch.full((num_sentences,), torch.nan),
    )


def make_extractor(kind: str, use_entities: bool, generator: torch.Generator) -> Extractor:
    """Return a model of the paper's size."""
    aggregator = AttentionConfig() if kind == "attention" else DirectConfig()
    tables = ModelTables(
        word_VW=torch.randn(NUM_WORDS, WORD_WIDTH, generator=generator),
        num_types=0,
        num_relations=NUM_RELATIONS,
        entity_EV=torch.randn(NUM_ENTITIES, ENTITY_WIDTH, generator=generator),
    )
    return Extractor(ModelConfig(aggregator=aggregator, use_entities=use_entities), tables, seed=1).eval()


def explain(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> dict[str, Tensor]:
    """Return the four mechanisms' scores."""
    return {name: EXPLAINERS[name].explain(extractor, vector_ND, bags) for name in PAPER}


def explain_in_loops(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> dict[str, Tensor]:
    """Return the same by automatic differentiation, once for each mechanism and relation, and by real removal."""
    return {
        "attention": extractor.aggregator.weigh(vector_ND, bags).expand(-1, NUM_RELATIONS),
        "saliency": score_gradients(extractor, vector_ND, bags, lambda _, g_ND: g_ND.abs().sum(1)),
        "gradient_x_input": score_gradients(extractor, vector_ND, bags, lambda x_ND, g_ND: (x_ND * g_ND).sum(1)),
        "leave_one_out": leave_one_out_by_removal(extractor, vector_ND, bags),
    }


def loop_over_relations(extractor: Extractor, batch: BagBatch) -> list[Tensor]:
    """Return the gradients for the first few relations, each from a forward and a backward pass of its own."""
    found = []
    with torch.enable_grad():
        for k in range(NUM_LOOPED):
            vector_ND = extractor.encode(batch.sentences)
            logit_B = extractor.classify(vector_ND, batch.bags)[:, k]
            found += torch.autograd.grad(logit_B.sum(), vector_ND)
    return found


def median_seconds(*calls: Callable[[], object]) -> list[float]:
    """Return the median time of each call, taken in turns so that a busy machine slows all alike."""
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(REPEATS + 1):
        for call, found in zip(calls, seconds, strict=True):
            began = time.monotonic()
            call()
            found.append(time.monotonic() - began)
    return [statistics.median(found[1:]) for found in seconds]


@torch.no_grad()
def measure(kind: str, use_entities: bool) -> list[dict[str, object]]:
    """Return the ratios of one model, once the two ways are seen to agree."""
    generator = torch.Generator().manual_seed(1)
    batch, extractor = make_batch(generator), make_extractor(kind, use_entities, generator)
    vector_ND = extractor.encode(batch.sentences)
    case = (extractor, vector_ND, batch.bags)
    expected = explain_in_loops(*case)
    for name, score_NR in explain(*case).items():
        scale = float(expected[name].abs().max())
        torch.testing.assert_close(score_NR, expected[name], atol=1e-5 * scale, rtol=1e-3)
    plain, ours, held, looped = median_seconds(
        lambda: extractor(batch),
        lambda: explain(*case),
        lambda: explain_in_loops(*case),
        lambda: loop_over_relations(extractor, batch),
    )
    label = f"{kind}{', +E' if use_entities else ''}"
    whole = looped * NUM_RELATIONS / NUM_LOOPED
    return [
        ratio_row(f"predict and explain over predict, {label}", plain + ours, plain, PREDICTION_BUDGET, "s"),
        ratio_row(f"predict and explain over loop of runs, {label}", plain + ours, whole, AUTOGRAD_BUDGET, "s"),
        ratio_row(f"explain over loop from held vectors, {label}", ours, held, AUTOGRAD_BUDGET, "s"),
    ]


def main() -> None:
    """Print three ratios for each aggregator, with and without +E."""
    # One thread: two that wait for each other on a busy machine measure the machine.
    torch.set_num_threads(1)
    rows = []
    for kind in ("attention", "direct"):
        for use_entities in (False, True):
            for row in measure(kind, use_entities):
                sizes = f"{row['ours']:8.3f} / {row['reference']:7.3f} = {row['ratio']:.3f}"
                print(f"{row['name']:52} {sizes}  budget {row['budget']}", flush=True)
                rows.append(row)
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
