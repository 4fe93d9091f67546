"""A pretrained transformer encoder: BERT, MiniLM, MPNet, RoBERTa, DistilBERT, ELECTRA, DeBERTa and similar models.

Shapes: S sentences, U their subwords, C sentences of a chunk, L the longest of these, H width of a subword's vector,
D width of a sentence vector, T tokens.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from sayso.config import Range, check_ranges
from sayso.errors import BadConfigError, UserError, option
from sayso.features.batch import SentenceBatch
from sayso.features.mentions import ModelInput
from sayso.features.subwords import num_cut, text_order
from sayso.model.embedding import TokenEmbedding
from sayso.model.encoders.base import Encoder, EncoderConfig, ModelTables
from sayso.model.kernels import packed_attention
from sayso.model.kernels.encoder_layers import HalfPrecision, allow_only_needed, only_needed
from sayso.model.kernels.threads import over_items, over_items_with_gradients
from sayso.model.layers import Affine, TokenDropout, drawing_from
from sayso.model.pretrained import Pretrained, has_fast_bf16, has_packed_attention, load_weights, quantized
from sayso.model.subword_layout import SubwordLayout, SubwordTable, lay_out
from sayso.model.subword_reads import MULTIPLE, KeptStates, PaddedReads, Reads, reads_of

_SUBWORDS_AT_A_TIME = {"thread": 2_048, "cpu": 8_192, "cuda": 131_072}
"""A chunk that a thread reads on its own fits into the cache."""
_SMALLEST_CHUNK = {"cpu": 8, "cuda": 512}
"""Below this many sentences, launching kernels costs a GPU more time than processing padding."""


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(EncoderConfig):
    """Settings of a pretrained encoder.

    `folder` contains the encoder as saved by `transformers`; a trained model no longer needs it. `reading` is `markers`
    (a sentence is read once per pair, with markers around its mentions) or `spans` (once for all its pairs, whose
    mentions are then looked up in it). Sentences of more than `max_length` subwords are cut. If `freeze_layers` is
    above 0, the subwords' vectors and this many of the first layers are not trained.
    """

    folder: str = ""
    reading: Literal["markers", "spans"] = "markers"
    max_length: Annotated[int, Range(16, 8_192)] = 128
    output_width: Annotated[int, Range(1, 10_000)] = 256
    freeze_layers: Annotated[int, Range(0, 1_000)] = 0
    dropout: Annotated[float, Range(0, 1, below=True)] = 0.1

    def __post_init__(self) -> None:
        check_ranges(self)


class TransformerEncoder(Encoder):
    """The vectors of the sentence token and of both mentions, a projection, ReLU.

    Markers follow Baldini Soares et al. 2019 ("Matching the Blanks"). A mention's vector is the mean over the marker
    before it and its subwords, which is slightly better on validation than the marker alone.
    """

    def __init__(self, config: TransformerConfig, tables: ModelTables, generator: torch.Generator) -> None:
        super().__init__(config, tables, generator)
        pretrained = tables.pretrained
        if pretrained is None:
            raise BadConfigError("model.encoder.transformer.folder is not set: set it to a folder with an encoder")
        num_layers, num_frozen = pretrained.num_layers, config.freeze_layers
        if num_frozen > num_layers:
            raise BadConfigError(
                f"model.encoder.transformer.freeze_layers: the encoder has only {num_layers} layers, got {num_frozen}"
            )
        self.config, self.pretrained, self.width = config, pretrained, config.output_width
        self.max_length = min(config.max_length, pretrained.max_length) // MULTIPLE * MULTIPLE
        self._parts = [part for part in (range(num_frozen), range(num_frozen, num_layers)) if part]
        networks = _built(pretrained, self._parts, generator)
        self.lower = networks[0].requires_grad_(False).eval() if num_frozen else None
        self.upper = networks[-1] if num_frozen < num_layers else None
        if self.upper is not None:
            allow_only_needed(self.upper)
        self._has_fused_attention = networks[-1].config._attn_implementation == "sdpa"  # type: ignore[union-attr]
        self.can_pack = has_packed_attention(networks[-1])
        self.dropout = TokenDropout(config.dropout)
        self.projection = Affine(3 * pretrained.width, config.output_width, generator)
        self._kept: KeptStates | None = None
        self._quantized: dict[nn.Module, nn.Module] = {}
        self._half = HalfPrecision()
        self._table: SubwordTable | None = None

    @property
    def networks(self) -> list[nn.Module]:
        """The frozen layers, if any, and the trained ones, if any."""
        return [network for network in (self.lower, self.upper) if network is not None]

    def load_pretrained(self) -> None:
        """Load the weights in the folder of the settings."""
        load_weights(dict(zip(self._parts, self.networks, strict=True)), Path(self.config.folder))

    def pretrained_parameters(self) -> list[nn.Parameter]:
        """Return the pretrained parameters that are trained further."""
        return [parameter for network in self.networks for parameter in network.parameters() if parameter.requires_grad]

    def num_cut(self, inputs: ModelInput) -> int:
        """Return how many of the sentences have more than `max_length` subwords."""
        return num_cut(inputs, self.pretrained.subwords.rows, self.max_length)

    def reading_order(self, inputs: ModelInput) -> np.ndarray | None:
        """Return an order in which equal texts are adjacent if they are read once."""
        return text_order(inputs, self.pretrained.subwords.rows) if self.config.reading == "spans" else None

    def quantize(self) -> None:
        """Switch prediction to 8-bit matrix products, on a CPU; gradients still use the original weights."""
        if self._device.type != "cpu":
            raise UserError(f"{option('quantize')}: 8-bit products are for CPUs: choose {option('device')} cpu")
        self._quantized = {network: quantized(network) for network in self.networks}

    @torch.no_grad()
    def keep_frozen(self, sentences: Iterable[SentenceBatch], kept: KeptStates, max_bytes: int) -> None:
        """Cache the frozen layers' output for these sentences in `kept`; only on a CPU."""
        if self.lower is None or self._packs:
            return
        # Filled before training and in a fixed order: a resumed run must compute with the same bits.
        for batch in sentences:
            reads = self._reads(batch.to(self._device))
            padded, row_UH = PaddedReads(reads), self._input_vectors(reads)
            for chunk in self._chunks(padded):
                if kept.lacks(reads, chunk) and kept.num_bytes < max_bytes:
                    kept.keep(reads, chunk, self._read_frozen(*padded.padded(chunk, self._device), row_UH), max_bytes)
        self._kept = kept

    def train(self, mode: bool = True) -> "TransformerEncoder":
        """Set training mode, except for frozen layers."""
        super().train(mode)
        if self.lower is not None:
            self.lower.eval()
        return self

    def forward(self, embedding: TokenEmbedding, sentences: SentenceBatch) -> Tensor:
        """Return vector_SD."""
        del embedding
        return self.read(self._reads(sentences, is_shared=self.config.reading == "spans"))

    def read(self, reads: Reads) -> Tensor:
        """Return vector_SD."""
        return self._vectors(reads, self._input_vectors(reads))

    def token_scores(self, embedding: TokenEmbedding, sentences: SentenceBatch, gradient_SD: Tensor) -> Tensor:
        """Return Σ v ∂o/∂v over each token's subwords, where v is a subword's input vector."""
        del embedding
        layout = self.lay_out(sentences)
        reads = reads_of(layout, is_shared=False)
        with torch.enable_grad():
            row_UH = self._input_vectors(reads).detach().requires_grad_()
            (change_UH,) = torch.autograd.grad((self._vectors(reads, row_UH) * gradient_SD).sum(), row_UH)
        score_U = (row_UH.detach() * change_UH).sum(1)
        return score_U.new_zeros(len(sentences.token_T) + 1).index_add(0, layout.token_U, score_U)[:-1]

    def lay_out(self, sentences: SentenceBatch) -> SubwordLayout:
        """Return the subwords of the sentences, with markers if the encoder uses them."""
        special, has_markers = self.pretrained.subwords.tokenizer.special, self.config.reading == "markers"
        return lay_out(sentences, self._subword_table(sentences.token_T.device), special, self.max_length, has_markers)

    def _reads(self, sentences: SentenceBatch, is_shared: bool = False) -> Reads:
        return reads_of(self.lay_out(sentences), is_shared)

    def _subword_table(self, device: torch.device) -> SubwordTable:
        """Return the subwords of all tokens on the device; words that are new to the model are added."""
        rows, table = self.pretrained.subwords.rows, self._table
        if table is None or len(table.start_V1) != len(rows.start) or table.id_X.device != device:
            value, start = (torch.from_numpy(each.astype(np.int64)).to(device) for each in rows)
            self._table = table = SubwordTable(value, start)
        return table

    def _input_vectors(self, reads: Reads) -> Tensor:
        row_UH: Tensor = self.networks[0].get_input_embeddings()(reads.id_U)  # type: ignore[operator]
        return row_UH

    def _vectors(self, reads: Reads, row_UH: Tensor) -> Tensor:
        """Return vector_SD from the input vectors of the subwords."""
        for network in self.networks:
            self._choose_attention(network, network)
            if self._uses_threads and self.is_half:
                self._choose_attention(network, self._half.copy(network))
        pooled = self._pooled_from_packed if self._packs else self._pooled_from_padded
        vector_SD: Tensor = self.projection(self.dropout(pooled(reads, row_UH))).relu()
        return vector_SD

    def _pooled_from_packed(self, reads: Reads, row_UH: Tensor) -> Tensor:
        state_1UH = row_UH[None]
        packed = {
            "position_ids": reads.position_U[None] + self.pretrained.first_position,
            "cu_seq_lens_q": reads.start_Q1.int(),
            "max_length_q": self.max_length,
        }
        for network in self.networks:
            state_1UH = self._run(network, state_1UH, packed)
        needed_WH = nn.functional.embedding(reads.place_W, state_1UH[0])
        return reads.pooled(needed_WH, reads.owner_W, reads.weight_W)

    def _pooled_from_padded(self, reads: Reads, row_UH: Tensor) -> Tensor:
        padded, nothing = PaddedReads(reads), row_UH.new_zeros(0, self.pretrained.width)

        def read(chunk: np.ndarray, leaf_UH: Tensor = row_UH) -> Tensor:
            return self._read_chunk(reads, padded, chunk, leaf_UH).to(row_UH.dtype)

        chunks = list(self._chunks(padded))
        if self._uses_threads and torch.is_grad_enabled() and self.upper is not None:
            found = self._read_to_train(read, chunks, row_UH, self.upper)
        else:
            found = (over_items if self._uses_threads else map)(read, chunks)  # type: ignore[assignment]
        return reads.pooled(torch.cat([nothing, *found]), padded.owner_W, padded.weight_W)

    def _read_to_train(
        self, read: Callable[..., Tensor], chunks: list[np.ndarray], row_UH: Tensor, upper: nn.Module
    ) -> list[Tensor]:
        """Return the needed vectors of each chunk, with gradients; each thread reads one chunk at a time."""
        leaf_UH = row_UH.detach().requires_grad_(row_UH.requires_grad)
        used = self._half.copy(upper) if self.is_half else upper
        pairs = zip([row_UH, *upper.parameters()], [leaf_UH, *used.parameters()], strict=True)
        inputs, leaves = zip(*(pair for pair in pairs if pair[1].requires_grad), strict=True)

        # A generator per chunk, because the order in which threads read chunks is not fixed.
        seeds: list[int] = torch.randint(2**62, (len(chunks),)).tolist()

        def read_one(number: int) -> Tensor:
            with drawing_from(seeds[number]):
                return read(chunks[number], leaf_UH)

        return over_items_with_gradients(read_one, range(len(chunks)), inputs, leaves)

    def _read_chunk(self, reads: Reads, padded: PaddedReads, chunk: np.ndarray, row_UH: Tensor) -> Tensor:
        """Return the needed vectors of the sentences of a chunk, [W, H]."""
        place_CL, is_there_CL = padded.padded(chunk, row_UH.device)
        state_CLH = None
        if self._kept is not None and not row_UH.requires_grad:
            state_CLH = self._kept.padded(reads, chunk, place_CL.shape[1], row_UH.device)
        if state_CLH is None:
            state_CLH = self._read_frozen(place_CL, is_there_CL, row_UH)
        place_W = padded.needed(chunk, row_UH.device)
        if self.upper is not None:
            with only_needed(place_W if place_W.device.type == "cpu" else None):
                state_CLH = self._run(self.upper, state_CLH, {"attention_mask": is_there_CL})
        return state_CLH if state_CLH.ndim == 2 else nn.functional.embedding(place_W, state_CLH.flatten(0, 1))

    def _read_frozen(self, place_CL: Tensor, is_there_CL: Tensor, row_UH: Tensor) -> Tensor:
        """Return the output of the frozen layers, or the input vectors if there are none."""
        state_CLH = nn.functional.embedding(place_CL, row_UH)
        return state_CLH if self.lower is None else self._run(self.lower, state_CLH, {"attention_mask": is_there_CL})

    def _run(self, network: nn.Module, state: Tensor, others: dict[str, Any]) -> Tensor:
        """Return the network's output for these input vectors, quantized or in half precision if enabled."""
        if self._quantized and not torch.is_grad_enabled():
            return self._quantized[network](inputs_embeds=state, **others).last_hidden_state  # type: ignore[no-any-return]
        if self.is_half and self._uses_threads:
            network, state = self._half.copy(network), state.bfloat16()
        elif self.is_half:
            inputs = {"inputs_embeds": state.bfloat16(), **others}
            return functional_call(network, self._half.parameters(network), (), inputs).last_hidden_state  # type: ignore[no-any-return]
        return network(inputs_embeds=state, **others).last_hidden_state  # type: ignore[no-any-return]

    def _choose_attention(self, network: nn.Module, used: nn.Module) -> None:
        # Fused attention is the fastest, except for gradients on a CPU.
        is_eager = self.training and network is self.upper and self._device.type == "cpu"
        fused = "eager" if is_eager else "sdpa"
        name = packed_attention.NAME if self._packs else fused if self._has_fused_attention else "eager"
        if used.config._attn_implementation != name:  # type: ignore[union-attr]
            used.set_attn_implementation(name)  # type: ignore[operator]

    @property
    def is_half(self) -> bool:
        """Whether the network computes in bfloat16: only if it is trained in it, and on devices where it is fast."""
        return self.precision == "bf16" and has_fast_bf16(self._device)

    @property
    def _packs(self) -> bool:
        """Whether sentences are read without padding."""
        return self.can_pack and self.is_half and self._device.type == "cuda"

    @property
    def _uses_threads(self) -> bool:
        """Whether each thread reads chunks on its own: in training and in prediction on a CPU, but not in between."""
        return self._device.type == "cpu" and self.training == torch.is_grad_enabled()

    @property
    def _device(self) -> torch.device:
        return self.projection.weight.device

    def _chunks(self, padded: PaddedReads) -> Iterator[np.ndarray]:
        num_subwords = _SUBWORDS_AT_A_TIME["thread" if self._uses_threads else self._device.type]
        return padded.chunks(num_subwords, _SMALLEST_CHUNK[self._device.type])


def _built(pretrained: Pretrained, parts: Sequence[range], generator: torch.Generator) -> list[nn.Module]:
    """Return the networks with random weights that depend on the generator alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(torch.randint(2**62, (), generator=generator, device="cpu")))
        return [pretrained.build(part) for part in parts]
