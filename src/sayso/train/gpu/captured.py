"""Training with captured CUDA graphs: steps are recorded once and replayed for every batch.

Shapes: U steps of an epoch, T its tokens, L 8-byte words in a step's row.

A step of this model is about fifty short kernels, which the CPU cannot launch as fast as the GPU finishes them. So all
data is on the device, an epoch's batches are laid out there in advance (one row per step, `pack`), and one graph of
several steps is replayed: each step finds its own row by a counter, which it increments itself. Losses are checked once
per epoch.
"""

import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import NamedTuple

import torch
from torch import Tensor

from sayso.model.extractor import Extractor
from sayso.model.kernels import compiler
from sayso.model.kernels.base import Codes
from sayso.seeding import sub_seed
from sayso.train.config import RunConfig
from sayso.train.data import RunData
from sayso.train.epoch import EpochPlan, ProcessShard
from sayso.train.gpu.encoder_kernels import Draws
from sayso.train.gpu.flat_adam import FlatAdam
from sayso.train.gpu.padded import Capacity, PaddedEpoch, pad_epoch
from sayso.train.gpu.padded_loss import PaddedLoss, peak_encoder
from sayso.train.gpu.tokens import shared_space
from sayso.train.loop import EpochResult, LossTally, OnStep, StepProgress

_ALIGNED = 16
"""Alignment in bytes, for fast reads."""


class Field(NamedTuple):
    """A tensor's position in a row, type and shape."""

    first: int
    stop: int
    dtype: torch.dtype
    shape: torch.Size


class Packed(NamedTuple):
    """The rows of all steps, and their fields."""

    row_L: Tensor
    fields: dict[str, Field]

    def cut(self, number_1: Tensor) -> dict[str, Tensor]:
        """Return the fields of a step, whose index stays on the device."""
        row_L = self.row_L.index_select(0, number_1)[0]
        return {
            name: row_L[field.first : field.stop].view(field.dtype)[: field.shape.numel()].view(field.shape)
            for name, field in self.fields.items()
        }


def pack(tensors: Mapping[str, Tensor]) -> Packed:
    """Return the tensors side by side; the first dimension of each is the step."""
    fields: dict[str, Field] = {}
    pieces, first = [], 0
    for name, tensor in tensors.items():
        flat = tensor.reshape(tensor.shape[0], -1).contiguous().view(torch.uint8)
        missing = -flat.shape[1] % _ALIGNED
        pieces += [flat, flat.new_zeros(flat.shape[0], missing)]
        stop = first + (flat.shape[1] + missing) // 8
        fields[name] = Field(first, stop, tensor.dtype, tensor.shape[1:])
        first = stop
    return Packed(torch.cat(pieces, 1).view(torch.int64), fields)


STEPS_A_GRAPH = 8
_GRAPHS_BETWEEN_LOOKS = 64
# Concurrent captures would see each other's allocations.
_ONE_AT_A_TIME = Lock()


def why_not_captured(extractor: Extractor, config: RunConfig, shard: ProcessShard) -> str | None:
    """Return why a run on a GPU cannot capture its steps; None if it can."""
    if shard.num > 1:
        return "several processes share every batch"
    if not compiler.IS_THERE:
        return "triton is not installed"
    if config.plain_settings:
        return f"{' and '.join(config.plain_settings)} cannot be captured"
    return None if peak_encoder(extractor.encoder) else "its encoder does not support it"


class CapturedEpochs:
    """Trains the epochs of a run on one GPU; model and optimizer are up to date after each."""

    def __init__(self, extractor: Extractor, optimizer: torch.optim.Adam, data: RunData) -> None:
        encoder, settings = peak_encoder(extractor.encoder), data.config.train
        assert encoder is not None
        self.data, self.convolution = data, encoder.convolution
        self.parameters = [parameter for parameter in extractor.parameters() if parameter.requires_grad]
        device = self.parameters[0].device
        self.stream = _own_stream(device)
        self.adam = FlatAdam(optimizer, self.parameters, settings.gradient_clip)
        dtype = torch.bfloat16 if settings.precision == "bf16" else torch.float32
        self.loss = PaddedLoss(extractor, data.config.loss, dtype)
        parts = [data.train] + ([data.direct] if data.direct is not None else [])
        self.extractor, self.space = extractor, shared_space([part.inputs for part in parts], device)
        self.number_1 = torch.zeros(1, dtype=torch.int64, device=device)
        self.key_1 = torch.zeros_like(self.number_1)
        self.capacity, self.names = Capacity(), list[str]()
        # What a graph reads, refilled for every epoch: the rows of all steps, and each token's four codes.
        self.packed, self.codes = Packed(self.number_1, {}), tuple[Tensor, ...]()
        self.term_UX, self.norm_U = self.adam.value_X.new_empty(0, 0), self.adam.value_X.new_empty(0)
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self._thread = ThreadPoolExecutor(1)
        self._side = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._ahead: tuple[int, Future[tuple[PaddedEpoch, Packed]]] | None = None

    def train_epoch(self, epoch: int, on_step: OnStep) -> EpochResult:
        """Train one epoch, one step per batch."""
        began = time.monotonic()
        self.stream.wait_stream(torch.cuda.current_stream(self.key_1.device))
        self.extractor.train()
        with torch.cuda.stream(self.stream):
            padded = self._prepare(epoch)
            self._ahead = (epoch + 1, self._thread.submit(self._lay_out, epoch + 1))
            self._replay(epoch, padded, began, on_step)
            losses = LossTally(epoch, ProcessShard())
            losses.add_all(self.names, torch.cat([self.term_UX, self.norm_U[:, None]], 1), padded.num_bags_U)
            terms = losses.means()
            self.adam.note_steps(len(padded.num_bags_U))
        seconds = time.monotonic() - began
        return EpochResult(terms, losses.first, seconds, padded.num_sentences / seconds)

    def _lay_out(self, epoch: int) -> tuple[PaddedEpoch, Packed]:
        """Return the epoch's steps, laid out while the GPU works on the previous epoch."""
        with torch.cuda.stream(self._side):
            plan = EpochPlan(self.data, epoch)
            padded = pad_epoch(plan, self.space, self.capacity, len(self.data.word_VW))
            packed = pack(padded.fields)
            self._side.synchronize()
        return padded, packed

    def _prepare(self, epoch: int) -> PaddedEpoch:
        """Copy the epoch into the graph's memory; capture again if it needs more than before."""
        number, ahead = self._ahead or (-1, None)
        padded, packed = ahead.result() if ahead is not None and number == epoch else self._lay_out(epoch)
        self.key_1.fill_(sub_seed(self.data.config.seed, f"dropout/{epoch}/0"))
        if padded.capacity != self.capacity:
            self.capacity, self.packed = padded.capacity, packed
            self.codes = padded.word_T.new_zeros(4, padded.capacity.tokens).unbind()
            self._fill(padded, packed)
            self._capture(len(padded.num_bags_U))
        self._fill(padded, packed)
        self.number_1.zero_()
        # The source belongs to the other stream, which may reuse its memory from here on.
        self.stream.synchronize()
        return padded

    def _fill(self, padded: PaddedEpoch, packed: Packed) -> None:
        self.packed.row_L.copy_(packed.row_L)
        _, head_T, tail_T, piece_T = padded.tokens.columns
        head_T, tail_T = (self.convolution.position.row_of(distance_T.int()) for distance_T in (head_T, tail_T))
        for code_T, row_T in zip(self.codes, (padded.word_T, head_T, tail_T, piece_T), strict=True):
            code_T[: len(row_T)] = row_T

    def _replay(self, epoch: int, padded: PaddedEpoch, began: float, on_step: OnStep) -> None:
        num_steps, done, looked = len(padded.num_bags_U), 0, 0
        while done < num_steps:
            num = STEPS_A_GRAPH if num_steps - done >= STEPS_A_GRAPH else 1
            self.graphs[num].replay()
            done += num
            if done == num_steps or done - looked >= _GRAPHS_BETWEEN_LOOKS * STEPS_A_GRAPH:
                looked = done
                self.stream.synchronize()
                rate = padded.num_sentences * done / num_steps / (time.monotonic() - began)
                on_step(StepProgress(epoch, done, num_steps, rate))

    def _terms(self) -> dict[str, Tensor]:
        fields = self.packed.cut(self.number_1)
        word_T, head_T, tail_T, piece_T = self.codes
        codes = Codes(word_T, head_T, tail_T, piece_T, fields["start_S1"])
        return self.loss.terms(fields, codes, Draws(self.key_1, self.number_1, self.convolution.dropout.num_dropped))

    def _step(self) -> None:
        """Run one training step, the one that is captured."""
        term_X = torch.stack(list(self._terms().values()))
        # A parameter without gradient gets zeros.
        gradients = torch.autograd.grad(term_X, self.parameters, torch.ones_like(term_X), materialize_grads=True)
        self.adam.step(gradients, self.number_1, self.norm_U)
        self.term_UX.index_copy_(0, self.number_1, term_X.detach()[None])
        self.number_1 += 1

    def _capture(self, num_steps: int) -> None:
        """Record the graphs after two steps that compile the kernels, then undo their updates."""
        learned = (self.adam.value_X, self.adam.mean_X, self.adam.square_X)
        kept = [values.clone() for values in learned]
        with _ONE_AT_A_TIME:
            self.number_1.zero_()
            self.names = list(self._terms())
            self.term_UX = self.adam.value_X.new_zeros(num_steps, len(self.names))
            self.norm_U = self.adam.value_X.new_zeros(num_steps)
            for _ in range(2):
                self.number_1.zero_()
                self._step()
            for num in {STEPS_A_GRAPH, 1}:
                self.graphs[num] = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graphs[num], stream=self.stream, capture_error_mode="thread_local"):
                    for _ in range(num):
                        self._step()
        for values, before in zip(learned, kept, strict=True):
            values.copy_(before)


def _own_stream(device: torch.device) -> torch.cuda.Stream:
    """Return the current stream if the caller chose one, else a new one: the default stream cannot be captured."""
    current = torch.cuda.current_stream(device)
    is_common = current == torch.cuda.default_stream(device)
    return torch.cuda.Stream(device) if is_common else current  # type: ignore[no-untyped-call]
