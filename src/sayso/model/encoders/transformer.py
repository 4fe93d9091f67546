"""A pretrained transformer encoder: BERT, MiniLM, MPNet, RoBERTa, DistilBERT, ELECTRA, DeBERTa and similar models.

Shapes: S sentences, U their subwords, C sentences of a chunk, L the longest of these, H width of a subword's vector,
D width of a sentence vector, T tokens.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import torch
from torch import Tensor, nn

from sayso.config import Range, check_ranges
from sayso.errors import BadConfigError
from sayso.features.batch import SentenceBatch
from sayso.model.embedding import TokenEmbedding
from sayso.model.encoders.base import Encoder, EncoderConfig, ModelTables
from sayso.model.layers import Affine, TokenDropout
from sayso.model.pretrained import Pretrained, load_weights
from sayso.model.subword_layout import SubwordLayout, SubwordTable, lay_out
from sayso.model.subword_reads import MULTIPLE, KeptStates, Reads

_SUBWORDS_AT_A_TIME = {"cpu": 8_192, "cuda": 131_072}
_SMALLEST_CHUNK = {"cpu": 8, "cuda": 512}
"""Below this many sentences, starting kernels costs a GPU more than reading padding does."""


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(EncoderConfig):
    """Settings of a pretrained encoder.

    `folder` has the encoder as `transformers` saves it; a trained model no longer needs it. `reading` is `markers` (a
    sentence is read once per pair, with markers around its mentions) or `spans` (once for all its pairs, whose mentions
    are then looked up in it). Sentences of more than `max_length` subwords are cut. If `freeze_layers` is above 0, the
    subwords' vectors and this many of the first layers are not trained.
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
            raise BadConfigError("model.encoder.transformer.folder is not set: give it the folder of an encoder")
        num_layers, num_frozen = pretrained.num_layers, config.freeze_layers
        if num_frozen > num_layers:
            raise BadConfigError(
                f"model.encoder.transformer.freeze_layers: the encoder has only {num_layers} layers, got {num_frozen}"
            )
        self.config, self.pretrained, self.width = config, pretrained, config.output_width
        self.max_length = min(config.max_length, pretrained.max_length) // MULTIPLE * MULTIPLE
        self._parts = [part for part in (range(num_frozen), range(num_frozen, num_layers)) if part]
        networks = _built(pretrained, self._parts, generator)
        self.lower = networks[0].requires_grad_(False) if num_frozen else None
        self.upper = networks[-1] if num_frozen < num_layers else None
        self.dropout = TokenDropout(config.dropout)
        self.projection = Affine(3 * pretrained.width, config.output_width, generator)
        self._kept: KeptStates | None = None
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

    @torch.no_grad()
    def keep_frozen(self, sentences: Iterable[SentenceBatch], max_bytes: int) -> None:
        """Cache the output of the frozen layers for these sentences, in up to this much memory."""
        if self.lower is None:
            return
        # Filled once and in a fixed order: a resumed run must compute with the same bits.
        kept = KeptStates(max_bytes)
        for batch in sentences:
            layout = self._lay_out(batch.to(next(self.parameters()).device))
            reads, row_UH = self._reads(layout), self._input_vectors(layout)
            for chunk in self._chunks(reads, row_UH.device):
                with self._precision(row_UH.device):
                    kept.keep(layout, chunk, self._read_frozen(reads, chunk, row_UH))
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
        layout = self._lay_out(sentences)
        return self._vectors(layout, self._input_vectors(layout))

    def token_scores(self, embedding: TokenEmbedding, sentences: SentenceBatch, gradient_SD: Tensor) -> Tensor:
        """Return Σ v ∂o/∂v over each token's subwords, where v is a subword's input vector."""
        del embedding
        layout = self._lay_out(sentences)
        with torch.enable_grad():
            row_UH = self._input_vectors(layout).detach().requires_grad_()
            vector_SD = self._vectors(layout, row_UH)
            (change_UH,) = torch.autograd.grad((vector_SD * gradient_SD).sum(), row_UH)
        score_U = (row_UH.detach() * change_UH).sum(1)
        return score_U.new_zeros(len(sentences.token_T) + 1).index_add(0, layout.token_U, score_U)[:-1]

    def _lay_out(self, sentences: SentenceBatch) -> SubwordLayout:
        special, has_markers = self.pretrained.subwords.tokenizer.special, self.config.reading == "markers"
        return lay_out(sentences, self._subword_table(sentences.token_T.device), special, self.max_length, has_markers)

    def _subword_table(self, device: torch.device) -> SubwordTable:
        """Return the subwords of all tokens on the device; words that are new to the model are added."""
        rows, table = self.pretrained.subwords.rows, self._table
        if table is None or len(table.start_V1) != len(rows.start) or table.id_X.device != device:
            value, start = (torch.from_numpy(each.astype(np.int64)).to(device) for each in rows)
            self._table = table = SubwordTable(value, start)
        return table

    def _input_vectors(self, layout: SubwordLayout) -> Tensor:
        row_UH: Tensor = self.networks[0].get_input_embeddings()(layout.id_U)  # type: ignore[operator]
        return row_UH

    def _vectors(self, layout: SubwordLayout, row_UH: Tensor) -> Tensor:
        """Return vector_SD from the input vectors of the subwords."""
        device = row_UH.device
        reads, found = self._reads(layout), []
        for chunk in self._chunks(reads, device):
            with self._precision(device):
                state_CLH = self._read(layout, reads, chunk, row_UH)
            found.append(reads.wanted(chunk, state_CLH).to(row_UH.dtype))
        owner_W, weight_W = reads.owners(row_UH)
        pooled_XH = row_UH.new_zeros(3 * reads.num_sentences, self.pretrained.width)
        if found:
            pooled_XH = pooled_XH.index_add(0, owner_W, torch.cat(found) * weight_W[:, None])
        vector_SD: Tensor = self.projection(self.dropout(pooled_XH.view(reads.num_sentences, -1))).relu()
        return vector_SD

    def _read(self, layout: SubwordLayout, reads: Reads, chunk: np.ndarray, row_UH: Tensor) -> Tensor:
        """Return the last layer's vectors for the sentences of a chunk."""
        place_CL, is_there_CL = reads.padded(chunk, row_UH.device)
        state_CLH = None
        if self._kept is not None and not row_UH.requires_grad:
            state_CLH = self._kept.padded(layout, chunk, place_CL.shape[1], row_UH.device)
        if state_CLH is None:
            state_CLH = self._read_frozen(reads, chunk, row_UH)
        if self.upper is not None:
            state_CLH = self.upper(inputs_embeds=state_CLH, attention_mask=is_there_CL).last_hidden_state
        return state_CLH

    def _read_frozen(self, reads: Reads, chunk: np.ndarray, row_UH: Tensor) -> Tensor:
        """Return the output of the frozen layers, or the input vectors if there are none."""
        place_CL, is_there_CL = reads.padded(chunk, row_UH.device)
        state_CLH = nn.functional.embedding(place_CL, row_UH)
        if self.lower is not None:
            state_CLH = self.lower(inputs_embeds=state_CLH, attention_mask=is_there_CL).last_hidden_state
        return state_CLH

    def _reads(self, layout: SubwordLayout) -> Reads:
        return Reads(layout, is_shared=self.config.reading == "spans")

    def _chunks(self, reads: Reads, device: torch.device) -> Iterator[np.ndarray]:
        return reads.chunks(_SUBWORDS_AT_A_TIME[device.type], _SMALLEST_CHUNK[device.type])

    def _precision(self, device: torch.device) -> torch.autocast:
        return torch.autocast(device.type, torch.bfloat16, enabled=self.is_half)


def _built(pretrained: Pretrained, parts: Sequence[range], generator: torch.Generator) -> list[nn.Module]:
    """Return the networks with random weights that depend on the generator alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(torch.randint(2**62, (), generator=generator, device="cpu")))
        return [pretrained.build(part) for part in parts]
