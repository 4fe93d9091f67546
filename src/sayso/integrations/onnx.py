"""Export of a trained model to ONNX: from tokens and bags to logits, without torch."""

import json
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sayso import __version__
from sayso.errors import BadArgumentError, UserError, import_extra
from sayso.features.batch import BagBatch, BagIndex, SentenceBatch, collate
from sayso.features.lexicon import TypesById
from sayso.features.user_input import read_bags, too_far_apart_message
from sayso.integrations.onnx_graph import FlatExtractor, FlatTransformer
from sayso.io.atomic import atomic_file
from sayso.library import Model
from sayso.model.encoders.transformer import TransformerEncoder
from sayso.model.extractor import Extractor
from sayso.model.subword_reads import reads_of
from sayso.records import Bag

TOLERANCE = 1e-4
OPSET = 18
OUTPUT = "logit_BR"

_TRIED_SIZES = ((1,), (9,), (1, 1, 1), (3, 1, 12, 2), (40, 1, 5))


def export_onnx(model: Model, path: Path) -> float:
    """Write the model as an ONNX file and return the largest difference from torch on random batches.

    Raises:
        UserError: The difference is above 1e-4; nothing is written.
    """
    if names := ", ".join(model.parts.members):
        raise UserError(f"a model of several seeds cannot be exported as one file: export one of its runs ({names})")
    # The exporter needs onnxscript.
    onnx, onnxruntime, _ = (import_extra(name, "ONNX export", "onnx") for name in ("onnx", "onnxruntime", "onnxscript"))
    extractor = model.parts.extractor.eval()
    if next(extractor.parameters()).device.type != "cpu":
        raise ValueError("only a model on the CPU can be exported: load it with device='cpu'")
    proto = _traced(extractor)
    about = {"variant": model.variant, "relations": json.dumps(model.relations), "sayso": __version__}
    onnx.helper.set_model_props(proto, about)
    content = proto.SerializeToString()
    error = measured_error(extractor, onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"]))
    if not error <= TOLERANCE:
        raise UserError(
            f"{path}: the exported model differs from torch by {error:.1e}, more than {TOLERANCE:g}: not written"
        )
    with atomic_file(path, "wb") as file:
        file.write(content)
    return error


def measured_error(extractor: Extractor, session: Any) -> float:
    """Return the largest difference between the logits of torch and of the session on random batches."""
    errors = []
    for seed, sizes in enumerate(_TRIED_SIZES):
        batch = random_batch(extractor, sizes, seed)
        with torch.no_grad():
            expected = extractor(batch).numpy()
        (found,) = session.run([OUTPUT], _arrays(extractor, batch))
        errors.append(float(np.abs(found - expected).max()))
    return max(errors)


def onnx_inputs(model: Model, bags: Sequence[Bag], types: TypesById | None = None) -> dict[str, np.ndarray]:
    """Return the inputs of an exported model for bags.

    Args:
        model: The exported model.
        bags: The bags, one per entity pair.
        types: Entity types by id or by name, as in `Model.predict`.

    Returns:
        The arrays by name.

    Raises:
        ValueError: A bag has no sentence that the model can read.

    Example: `session.run(["logit_BR"], onnx_inputs(model, [bag]))`
    """
    own = read_bags(bags, model.parts.lexicon)
    if len(own.row_B) < len(bags):
        raise BadArgumentError(f"a bag has no readable sentence: {too_far_apart_message(model.parts.lexicon)}")
    taken = own.input_bags(len(model.relations), types, model.parts.extractor.config.use_entities)
    return _arrays(model.parts.extractor, collate(taken.part, np.arange(len(bags))))


def _arrays(extractor: Extractor, batch: BagBatch) -> dict[str, np.ndarray]:
    return {name: value.numpy() for name, value in inputs_of(extractor, batch).items()}


def inputs_of(extractor: Extractor, batch: BagBatch) -> dict[str, Tensor]:
    """Return the file's inputs for a batch: what its encoder reads, then the bags."""
    encoder, sentences, bags = extractor.encoder, batch.sentences, batch.bags
    of_bags = {"bag_S": bags.bag_N, "head_B": bags.head_B, "tail_B": bags.tail_B}
    if isinstance(encoder, TransformerEncoder):
        return _subwords_of(encoder, sentences) | of_bags
    return {field.name: getattr(sentences, field.name) for field in fields(sentences)} | of_bags


def _subwords_of(encoder: TransformerEncoder, sentences: SentenceBatch) -> dict[str, Tensor]:
    layout = encoder.lay_out(sentences)
    reads, length_S = reads_of(layout, is_shared=False), layout.length_S
    longest = int(length_S.max())
    id_SL = torch.full((len(length_S), longest), encoder.pretrained.subwords.tokenizer.special.padding)
    is_there_SL = torch.arange(longest) < length_S[:, None]
    id_SL[is_there_SL] = layout.id_U
    sentence_W = reads.owner_W // 3
    place_W = reads.place_W - layout.start_S1[sentence_W] + longest * sentence_W
    needed = {"place_W": place_W, "owner_W": reads.owner_W, "weight_W": reads.weight_W}
    return {"id_SL": id_SL, "length_S": length_S, **needed}


def random_batch(extractor: Extractor, sizes: tuple[int, ...], seed: int) -> BagBatch:
    """Return random bags of these sizes, with sentences of 2 to 30 tokens."""
    rng = np.random.default_rng(seed)
    length_S = rng.integers(2, 31, sum(sizes))
    num_tokens, num_bags = int(length_S.sum()), len(sizes)
    num_rows = len(extractor.embedding.word_VW) + len(extractor.embedding.type_KW)
    num_entities = len(extractor.scorer.entity.entity_EV) if extractor.scorer.entity is not None else 1
    pieces = [np.sort(rng.integers(0, 3, length)) for length in length_S]

    def drawn(low: int, high: int, size: int) -> Tensor:
        return torch.from_numpy(rng.integers(low, high, size))

    # The first token of each sentence is its head, the last its tail.
    start_S1 = np.append(0, length_S.cumsum())
    head_T, tail_T = drawn(1, 61, num_tokens), drawn(1, 61, num_tokens)
    head_T[start_S1[:-1]] = tail_T[start_S1[1:] - 1] = 0
    return BagBatch(
        sentences=SentenceBatch(
            token_T=drawn(0, num_rows, num_tokens),
            head_distance_T=head_T,
            tail_distance_T=-tail_T,
            piece_T=torch.from_numpy(np.concatenate(pieces)),
            start_S1=torch.from_numpy(start_S1),
        ),
        bags=BagIndex(
            bag_N=torch.from_numpy(np.repeat(np.arange(num_bags), sizes)),
            head_B=drawn(0, num_entities, num_bags),
            tail_B=drawn(0, num_entities, num_bags),
        ),
        label_BR=torch.zeros(num_bags, len(extractor.scorer.bias_R)),
        distractor_bag_M=torch.zeros(0, dtype=torch.long),
        distractor_relation_M=torch.zeros(0, dtype=torch.long),
        target_S=torch.full((len(length_S),), torch.nan),
    )


def _traced(extractor: Extractor) -> Any:
    # Tracing would treat the sizes 0 and 1 as constants; all sizes are dynamic in the file.
    inputs = inputs_of(extractor, random_batch(extractor, (2, 3, 4), seed=0))
    is_pretrained = isinstance(extractor.encoder, TransformerEncoder)
    free = [dict.fromkeys(range(value.ndim), torch.export.Dim.AUTO) for value in inputs.values()]
    with torch.no_grad(), _quiet():
        program = torch.onnx.export(
            (FlatTransformer if is_pretrained else FlatExtractor)(extractor).eval(),
            tuple(inputs.values()),
            dynamo=True,
            input_names=tuple(inputs),
            output_names=(OUTPUT,),
            dynamic_shapes=tuple(free),
            opset_version=OPSET,
            verbose=False,
        )
    assert program is not None
    return program.model_proto


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporter's warnings about other libraries."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
