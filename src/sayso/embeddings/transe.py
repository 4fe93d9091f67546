"""Train entity vectors from a knowledge graph with TransE (Bordes et al. 2013): head + relation is near the tail.

Used instead of pykeen: in the same CPU time it ranks held-out facts better on FB15k-237 (docs/vectors.md).
Three things differ from the paper because they proved faster or better: all facts of a batch share their
negatives, so distances are one matrix product; the loss is cross-entropy instead of a margin; and vectors are not
normalised during training. A step reads and writes only the rows of its batch, so its cost does not depend on the size
of the graph.
Shapes: B facts of a batch, C shared negatives, U distinct entities of a batch, E entities, R relations, D width.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np

from sayso.config import SEED, Range, check_ranges
from sayso.embeddings.graph import Facts, Graph, Vectors, hold_out, mean_reciprocal_rank, rank_facts
from sayso.errors import BadConfigError, BadInputError, option
from sayso.memory import refuse_beyond_memory
from sayso.seeding import sub_seed

if TYPE_CHECKING:
    from torch import Generator, Tensor

_HELD_OUT_SHARE = 0.02
_MAX_HELD_OUT = 10_000
_NUM_WATCHED = 1_000


@dataclass(frozen=True, kw_only=True)
class TransESettings:
    """Settings of TransE training; on a CPU the same seed gives the same vectors."""

    width: Annotated[int, Range(1, 10_000)] = 100
    epochs: Annotated[int, Range(1, 1_000_000)] = 30
    patience: Annotated[int, Range(1, 1_000_000)] = 5
    """Training stops after this many epochs without a better MRR of the held-out facts."""
    batch: Annotated[int, Range(1, 1_000_000)] = 1024
    num_negatives: Annotated[int, Range(1, 1_000_000)] = 512
    learning_rate: Annotated[float, Range(0, 1e30, above=True)] = 0.4
    seed: Annotated[int, SEED] = 13
    device: str = "auto"

    def __post_init__(self) -> None:
        check_ranges(self)


class TransEEpoch(NamedTuple):
    """Mean loss per fact of an epoch, and filtered MRR of up to 1,000 held-out facts (NaN if there are none)."""

    number: int
    loss: float
    held_out_mrr: float


@dataclass(frozen=True, eq=False)
class TransEVectors:
    """Vectors of the best epoch, scaled so that entities have length one on average, and their quality.

    `held_out_mrr`: filtered mean reciprocal rank of heads and tails of the `num_held_out` facts, which were not trained
    on; NaN if there are none.
    """

    entity_ED: Vectors
    relation_RD: Vectors
    held_out_mrr: float
    num_held_out: int
    best_epoch: int


def train_transe(graph: Graph, settings: TransESettings, on_epoch: Callable[[TransEEpoch], None]) -> TransEVectors:
    """Return the vectors of entities and relations from the epoch that ranks held-out facts best."""
    num_asked = min(_MAX_HELD_OUT, int(_HELD_OUT_SHARE * len(graph.fact_F3)))
    train_F3, held_F3 = hold_out(graph, num_asked, sub_seed(settings.seed, "hold-out"))
    if not len(train_F3):
        raise BadInputError("no facts to train on")
    _refuse_too_large(graph, len(train_F3), settings)
    trainer = _Trainer(graph, train_F3, settings)
    best, best_epoch, best_mrr = trainer.vectors(), 0, float("-inf")
    for number in range(1, settings.epochs + 1):
        loss = trainer.run_epoch()
        vectors = trainer.vectors()
        mrr = mean_reciprocal_rank(rank_facts(*vectors, held_F3[:_NUM_WATCHED], graph.fact_F3))
        on_epoch(TransEEpoch(number, loss, mrr))
        # Without held-out facts (NaN) the last epoch is kept.
        if not mrr <= best_mrr:
            best, best_epoch, best_mrr = vectors, number, mrr
        elif number - best_epoch >= settings.patience:
            break
    entity_ED, relation_RD = best
    mrr = mean_reciprocal_rank(rank_facts(entity_ED, relation_RD, held_F3, graph.fact_F3))
    scale = np.float32(1 / np.linalg.norm(entity_ED, axis=1).mean())
    return TransEVectors(entity_ED * scale, relation_RD * scale, mrr, len(held_F3), best_epoch)


def _refuse_too_large(graph: Graph, num_facts: int, settings: TransESettings) -> None:
    # Rows, squared gradients, copies of the last and the best epoch; a batch's distances and their gradients.
    num_rows = 4 * settings.width * (graph.num_entities + graph.num_relations)
    num_distances = 4 * min(settings.batch, num_facts) * settings.num_negatives
    what = f"vectors of width {settings.width:,} for {graph.num_entities:,} entities need"
    refuse_beyond_memory(4 * (num_rows + num_distances), what, "lower the width, the batch or the number of negatives")


class _Trainer:
    """The tables being trained, and one training pass over the facts."""

    def __init__(self, graph: Graph, train_F3: Facts, settings: TransESettings) -> None:
        import torch

        self.settings = settings
        self.device = torch.device(_device_name(settings.device))
        self.random = torch.Generator(self.device).manual_seed(sub_seed(settings.seed, "transe"))
        self.fact_F3 = torch.from_numpy(train_F3).to(self.device)
        self.entities = _Table(graph.num_entities, settings, self.random)
        self.relations = _Table(graph.num_relations, settings, self.random)

    def vectors(self) -> tuple[Vectors, Vectors]:
        """Return copies of the entity and relation vectors."""
        return self.entities.row_VD.cpu().numpy().copy(), self.relations.row_VD.cpu().numpy().copy()

    def run_epoch(self) -> float:
        """Train once on every fact, in random order; return the mean loss per fact."""
        import torch

        order_F = torch.randperm(len(self.fact_F3), generator=self.random, device=self.device)
        total = torch.zeros((), device=self.device)
        for index_B in torch.split(order_F, self.settings.batch):
            total += self._step(self.fact_F3[index_B])
        return float(total) / len(self.fact_F3)

    def _step(self, fact_B3: "Tensor") -> "Tensor":
        import torch

        head_B, relation_B, tail_B = fact_B3.unbind(1)
        num_entities = len(self.entities.row_VD)
        negative_C = torch.randint(
            num_entities, (self.settings.num_negatives,), generator=self.random, device=self.device
        )
        is_head_B = torch.rand((len(fact_B3),), generator=self.random, device=self.device) < 0.5
        entity_U, entity_index = torch.unique(torch.cat([head_B, tail_B, negative_C]), return_inverse=True)
        relation_U, relation_index_B = torch.unique(relation_B, return_inverse=True)
        with torch.enable_grad():
            entity_UD = self.entities.row_VD[entity_U].requires_grad_()
            relation_UD = self.relations.row_VD[relation_U].requires_grad_()
            # Not entity_UD[index]: with several threads its gradient is summed in no fixed order.
            used = torch.split(entity_UD.index_select(0, entity_index), [len(head_B), len(tail_B), len(negative_C)])
            head_BD, tail_BD, negative_CD = used
            step_BD = relation_UD.index_select(0, relation_index_B)
            query_BD = torch.where(is_head_B[:, None], tail_BD - step_BD, head_BD + step_BD)
            answer_BD = torch.where(is_head_B[:, None], head_BD, tail_BD)
            is_right_BC = negative_C == torch.where(is_head_B, head_B, tail_B)[:, None]
            loss = _cross_entropy(query_BD, answer_BD, negative_CD, is_right_BC)
            loss.backward()  # type: ignore[no-untyped-call]
        self.entities.descend(entity_U, entity_UD)
        self.relations.descend(relation_U, relation_UD)
        return loss.detach()


class _Table:
    """Rows trained by Adagrad (Duchi et al. 2011), which suits rows that are seldom updated."""

    def __init__(self, num_rows: int, settings: TransESettings, random: "Generator") -> None:
        import torch

        bound = 6 / settings.width**0.5  # Bordes et al. 2013, algorithm 1
        shape = (num_rows, settings.width)
        self.row_VD = (torch.rand(shape, generator=random, device=random.device) * 2 - 1) * bound
        self.square_VD = torch.zeros_like(self.row_VD)
        self.learning_rate = settings.learning_rate

    def descend(self, index_U: "Tensor", used_UD: "Tensor") -> None:
        """Update the rows at `index_U` by the gradient in `used_UD`."""
        gradient_UD = used_UD.grad
        assert gradient_UD is not None
        square_UD = self.square_VD[index_U].addcmul_(gradient_UD, gradient_UD)
        self.square_VD[index_U] = square_UD
        self.row_VD[index_U] = used_UD.detach().addcdiv(
            gradient_UD, square_UD.sqrt_().add_(1e-10), value=-self.learning_rate
        )


def _cross_entropy(query_BD: "Tensor", answer_BD: "Tensor", negative_CD: "Tensor", is_right_BC: "Tensor") -> "Tensor":
    """Return the cross-entropy of the correct answers among the negatives, summed over facts."""
    import torch

    right_B1 = -(query_BD - answer_BD).square().sum(1, keepdim=True).clamp_min(1e-9).sqrt()
    square_BC = query_BD.square().sum(1)[:, None] + negative_CD.square().sum(1) - 2 * query_BD @ negative_CD.T
    negative_BC = -square_BC.clamp_min(1e-9).sqrt()
    score = torch.cat([right_B1, negative_BC.masked_fill(is_right_BC, -torch.inf)], dim=1)
    return -score.log_softmax(dim=1)[:, 0].sum()


def _device_name(device: str) -> str:
    import torch

    if device not in ("auto", "cpu", "cuda"):
        raise BadConfigError(f"unknown device {device!r}; use auto, cpu or cuda")
    if device == "cuda" and not torch.cuda.is_available():
        raise BadConfigError(f"{option('device')} cuda: no GPU found; use {option('cpu', '--device cpu')}")
    return "cuda" if device != "cpu" and torch.cuda.is_available() else "cpu"
