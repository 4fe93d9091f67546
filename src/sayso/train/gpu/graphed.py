"""Training of pretrained encoders with captured CUDA graphs: a few sizes of a step are recorded once and replayed.

Shapes: U steps of an epoch, X loss terms.

A step consists of hundreds of short kernels, which the CPU cannot launch as fast as the GPU finishes them. So threads
lay out the steps; each is padded to one of a few sizes, copied to the GPU in one piece, and the graph of its size is
replayed, which adds up gradients. A second graph clips the gradients and updates the parameters. Losses are checked
once per epoch.
"""

import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from sayso.features.batch import BagBatch
from sayso.features.mentions import concatenate
from sayso.model.encoders.transformer import TransformerEncoder
from sayso.model.extractor import Extractor
from sayso.seeding import sub_seed
from sayso.train.config import RunConfig
from sayso.train.data import RunData
from sayso.train.epoch import EpochPlan, ProcessShard, num_steps
from sayso.train.gpu.subword_corpus import PaddedRow, StepReads, StepSize, SubwordCorpus, size_of
from sayso.train.loop import EpochResult, LossTally, OnStep, StepProgress, make_adam, set_rates
from sayso.train.objective import Objective

_NUM_SIZES = 8
"""Steps are padded to multiples of this fraction of the largest."""
_STEPS_LOOKED_AT = 64
_SLACK = 1.1
"""Spare capacity over the largest of the sampled steps, so that later ones fit as well."""
_MOST_TERMS = 8
_NUM_THREADS = 4
_STEPS_AHEAD = 32
_STEPS_BETWEEN_LOOKS = 100


def why_not_graphed(extractor: Extractor, config: RunConfig, shard: ProcessShard) -> str | None:
    """Return why a run with a pretrained encoder cannot replay its steps on this GPU; None if it can."""
    encoder = extractor.encoder
    assert isinstance(encoder, TransformerEncoder)
    if shard.num > 1:
        return "several processes share every batch"
    if not encoder.can_pack:
        return "encoders of its kind need padding"
    if encoder.precision != "bf16":
        return 'train.precision is not "bf16"'
    return "distractors (loss.distractor) cannot be captured" if config.loss.distractor else None


class _Part(NamedTuple):
    """One part of a step, and the sizes of the whole step."""

    batch: BagBatch
    reads: StepReads
    num_bags: int
    num_targets: int


class _Graph(NamedTuple):
    """A captured forward and backward pass that reads `row`, and the row in the CPU's memory that is copied there."""

    graph: torch.cuda.CUDAGraph
    row: PaddedRow
    waiting: PaddedRow
    is_copied: torch.cuda.Event


class GraphedEpochs:
    """Trains the epochs of a run on one GPU; model and optimizer are up to date after each."""

    def __init__(self, objective: Objective, optimizer: torch.optim.Optimizer, data: RunData) -> None:
        encoder = objective.extractor.encoder
        assert isinstance(encoder, TransformerEncoder)
        self.objective, self.encoder, self.optimizer, self.data = objective, encoder, optimizer, data
        self.parameters = [parameter for parameter in objective.parameters() if parameter.requires_grad]
        self.device = self.parameters[0].device
        self.stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        self.generator = torch.Generator(self.device)
        objective.extractor.use_generator(self.generator)
        inputs = [data.train.inputs] + ([data.direct.inputs] if data.direct else [])
        self.corpus = SubwordCorpus.of(encoder, concatenate(inputs))
        self.most, self.graphs, self.pool = StepSize(), dict[int, _Graph](), torch.cuda.graph_pool_handle()
        self.update: torch.cuda.CUDAGraph | None = None
        self._gradients = [torch.zeros_like(parameter) for parameter in self.parameters]
        for parameter, gradient in zip(self.parameters, self._gradients, strict=True):
            parameter.grad = gradient
        # The step's number and its terms so far; the norm of the gradient and the terms of every step.
        self.number_1 = torch.zeros(1, dtype=torch.int64, device=self.device)
        self.term_X = torch.zeros(_MOST_TERMS, device=self.device)
        self.row_UX, self.names = torch.zeros(num_steps(data), 1 + _MOST_TERMS, device=self.device), list[str]()

    def train_epoch(self, epoch: int, on_step: OnStep) -> EpochResult:
        """Train one epoch, one step per batch."""
        began, of_steps, settings = time.monotonic(), num_steps(self.data), self.data.config.train
        self.objective.train()
        self._seed(epoch)
        self.stream.wait_stream(torch.cuda.current_stream(self.device))
        num_sentences, num_bags = 0, list[int]()
        with torch.cuda.stream(self.stream):
            for number, parts in enumerate(self._steps(epoch), 1):
                for part in parts:
                    self._add_gradients(part)
                    num_sentences += part.batch.sentences.num_sentences
                done = (epoch - 1) * of_steps + number - 1
                set_rates(self.optimizer, settings, done, settings.max_epochs * of_steps)
                self._replay_update()
                num_bags.append(parts[0].num_bags)
                if number % _STEPS_BETWEEN_LOOKS == 0 or number == of_steps:
                    self.stream.synchronize()
                    on_step(StepProgress(epoch, number, of_steps, num_sentences / (time.monotonic() - began)))
            losses = LossTally(epoch, ProcessShard())
            norm_U, term_UX = self.row_UX[:, 0], self.row_UX[:, 1 : len(self.names) + 1]
            losses.add_all(self.names, torch.cat([term_UX, norm_U[:, None]], 1), num_bags)
            terms = losses.means()
        seconds = time.monotonic() - began
        return EpochResult(terms, losses.first, seconds, num_sentences / seconds)

    def _seed(self, epoch: int) -> None:
        seed = self.data.config.seed
        self.generator.manual_seed(sub_seed(seed, f"dropout/{epoch}/0"))
        torch.manual_seed(sub_seed(seed, f"libraries/{epoch}/0"))
        self.number_1.zero_()

    def _steps(self, epoch: int) -> Iterator[list[_Part]]:
        """Yield the parts of each step, laid out ahead by threads."""
        plan, of_steps = EpochPlan(self.data, epoch, is_numbered=True), num_steps(self.data)
        if not self.graphs:
            first = range(min(of_steps, _STEPS_LOOKED_AT))
            self._allow_for([part for number in first for part in self._parts(plan, number)])
        waiting: deque[Future[list[_Part]]] = deque()
        with ThreadPoolExecutor(_NUM_THREADS) as threads:
            for number in range(of_steps):
                waiting.append(threads.submit(self._parts, plan, number))
                if len(waiting) > _STEPS_AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def _parts(self, plan: EpochPlan, number: int) -> list[_Part]:
        size = self.data.config.train.batch_bags
        bags = plan.order[number * size : (number + 1) * size]
        num_parts, num_targets = plan.num_parts(bags), plan.num_targets(bags, number)
        batches = [plan.batch(bags, number, ProcessShard(part, num_parts)) for part in range(num_parts)]
        rows = [self.corpus.take(batch.sentences.token_T.numpy()) for batch in batches]
        return [_Part(batch, reads, len(bags), num_targets) for batch, reads in zip(batches, rows, strict=True)]

    def _size_of(self, part: _Part) -> StepSize:
        return size_of(part.batch, part.reads, self.data.config.train.batch_bags)

    def _allow_for(self, parts: list[_Part]) -> None:
        """Enlarge the largest size so that these parts fit; then everything is captured again."""
        needed = StepSize(*np.max([self._size_of(part) for part in parts], axis=0).tolist())
        self.most = self.most.enlarged(needed, _SLACK)
        self.graphs.clear()

    def _add_gradients(self, part: _Part) -> None:
        """Add the gradients of a part's loss, with the graph of the smallest size that it fits into."""
        size = self._size_of(part)
        if not self.most.holds(size):
            self._allow_for([part])
        level = self.most.level(size, _NUM_SIZES)
        if level not in self.graphs:
            self.graphs[level] = self._capture(part, self.most.at_level(level, _NUM_SIZES))
        graph, row, waiting, is_copied = self.graphs[level]
        is_copied.synchronize()
        self._fill(waiting, part)
        row.memory.copy_(waiting.memory, non_blocking=True)
        is_copied.record(self.stream)
        graph.replay()

    def _fill(self, row: PaddedRow, part: _Part) -> None:
        padding = self.encoder.pretrained.subwords.tokenizer.special.padding
        row.fill(part.batch, part.reads, part.num_bags, part.num_targets, padding)

    def _capture(self, part: _Part, size: StepSize) -> _Graph:
        """Record a graph of this size, after running it twice without effect."""
        settings, longest = self.data.config.train, self.encoder.max_length
        waiting, row = (
            PaddedRow(size, settings.batch_bags, self.data.num_relations, longest, each)
            for each in ("cpu", self.device)
        )
        self._fill(waiting, part)
        row.memory.copy_(waiting.memory)
        sums = [*self._gradients, self.term_X]
        kept, draws = [each.clone() for each in sums], torch.cuda.get_rng_state(self.device)
        draws_of_ours = self.generator.get_state()
        for _ in range(2):
            self._backward(row)
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self.generator)
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"):
            self._backward(row)
        torch._foreach_copy_(sums, kept)
        torch.cuda.set_rng_state(draws, self.device)
        self.generator.set_state(draws_of_ours)
        return _Graph(graph, row, waiting, torch.cuda.Event())  # type: ignore[no-untyped-call]

    def _backward(self, row: PaddedRow) -> None:
        """Add up the gradients and the terms of the loss."""
        sizes = (row.fields["num_bags"][0], row.fields["num_targets"][0])
        terms = self.objective.terms(self.encoder.read(row.reads), row.batch, *sizes)
        self.names = list(terms)
        term_X = torch.stack(list(terms.values()))
        gradients = torch.autograd.grad(term_X.sum(), self.parameters, materialize_grads=True)
        torch._foreach_add_([*self._gradients, self.term_X[: len(terms)]], [*gradients, term_X.detach()])

    def _replay_update(self) -> None:
        """Clip the gradients, update the parameters, note the terms and begin the next step."""
        if self.update is None:
            self.update = torch.cuda.CUDAGraph()
            self._prepare_optimizer()
            with torch.cuda.graph(self.update, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"):
                self._step()
        self.update.replay()

    def _step(self) -> None:
        norm = nn.utils.clip_grad_norm_(self.parameters, self.data.config.train.gradient_clip)
        self.optimizer.step()
        self.row_UX.index_copy_(0, self.number_1, torch.cat([norm[None], self.term_X])[None])
        torch._foreach_zero_([*self._gradients, self.term_X])
        self.number_1 += 1

    def _prepare_optimizer(self) -> None:
        """Make the optimizer's rates and moments tensors on the GPU, and load its kernels."""
        for group in self.optimizer.param_groups:
            group["capturable"], group["lr"] = True, torch.tensor(float(group["lr"]), device=self.device)
        for parameter in self.parameters:
            zeros = {name: torch.zeros_like(parameter) for name in ("exp_avg", "exp_avg_sq")}
            zeros["step"] = torch.zeros((), device=self.device)
            self.optimizer.state[parameter] = zeros | self.optimizer.state[parameter]
        trial = nn.Parameter(torch.ones(1, device=self.device))
        trial.grad = torch.ones_like(trial)
        nn.utils.clip_grad_norm_([trial], 1.0)
        make_adam([{**self.optimizer.param_groups[0], "params": [trial]}]).step()
