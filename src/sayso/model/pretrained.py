"""Pretrained encoders in folders, as `transformers` saves them: read offline; nothing in them is run or unpickled."""

import copy
import hashlib
import importlib
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from sayso.errors import BadInputError, MissingExtraError
from sayso.features.subwords import SpecialIds, Subwords, SubwordTokenizer
from sayso.model.kernels import packed_attention
from sayso.model.kernels.encoder_layers import use_all_bits
from sayso.model.layers import LibraryDropout

_UNUSED = tuple(f"[unused{number}]" for number in (1, 2, 3, 4))
_ADDED = ("[HEAD]", "[/HEAD]", "[TAIL]", "[/TAIL]")
_ATTENTION_DROPOUT = ("attention_probs_dropout_prob", "attention_dropout")
"""Set to 0: drawing for every pair of subwords takes a fifth of a training step on CPU."""
_SETTING = "model.encoder.transformer.folder"


@dataclass(frozen=True, kw_only=True)
class Pretrained:
    """What a transformer encoder is built from: its architecture as `transformers` describes it, and its subwords."""

    architecture: dict[str, Any]
    subwords: Subwords

    @property
    def width(self) -> int:
        """The width of a subword's vector."""
        return int(_config_of(self.architecture).hidden_size)

    @property
    def num_layers(self) -> int:
        """The number of layers."""
        return int(_config_of(self.architecture).num_hidden_layers)

    @property
    def first_position(self) -> int:
        """The position of a sentence's first subword: in RoBERTa and MPNet the one after that of padding."""
        config = _config_of(self.architecture)
        return config.pad_token_id + 1 if "roberta" in config.model_type or config.model_type == "mpnet" else 0

    @property
    def max_length(self) -> int:
        """The largest number of subwords that the encoder can read."""
        return int(_config_of(self.architecture).max_position_embeddings) - self.first_position

    def build(self, layers: range) -> nn.Module:
        """Return a network with only these layers, with random weights from torch's global generator.

        Unless it begins with the first layer, its input is the output of the layer before. Attention has no dropout.
        """
        config = _config_of(self.architecture)
        config.num_hidden_layers = len(layers)
        for name in _ATTENTION_DROPOUT:
            if hasattr(config, name):
                setattr(config, name, 0.0)
        network = _without_pooler(_transformers().AutoModel.from_config(config, trust_remote_code=False))
        if layers.start:
            network.embeddings = _PassedOn()
            if hasattr(network, "embeddings_project"):  # ELECTRA
                network.embeddings_project = nn.Identity()
        for module in list(network.modules()):
            for name, child in module.named_children():
                if type(child) is nn.Dropout:
                    setattr(module, name, LibraryDropout(child.p))
        return network


class _PassedOn(nn.Module):
    """Replaces a network's embeddings and returns its input vectors unchanged."""

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        # Architectures pass the vectors by name or by position, among ids and masks.
        given = (each for each in (*args, *kwargs.values()) if isinstance(each, Tensor) and each.ndim == 3)
        return next(given)


def has_fast_bf16(device: torch.device) -> bool:
    """Return whether bfloat16 is faster than float32 on the device: a GPU, or a CPU with bfloat16 instructions."""
    return device.type == "cuda" or torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def has_packed_attention(network: nn.Module) -> bool:
    """Return whether the network lets us replace its attention, so that sentences need no padding."""
    _transformers().AttentionInterface.register(packed_attention.NAME, packed_attention.packed_attention)
    return bool(getattr(network, "_supports_flash_attn", False))


def quantized(network: nn.Module) -> nn.Module:
    """Return a copy for prediction whose linear layers have 8-bit weights, and round their input to 8 bits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch announces that these functions will move
        quantization = torch.ao.quantization
        kinds = {nn.Linear: quantization.per_channel_dynamic_qconfig}
        copied = copy.deepcopy(network).eval()
        copied.requires_grad_(False)
        found: nn.Module = quantization.quantize_dynamic(copied, kinds, inplace=True)  # type: ignore[no-untyped-call]
    use_all_bits(found)
    return found


def read_pretrained(folder: Path, words: list[str], types: list[str]) -> Pretrained:
    """Read the architecture and the tokenizer of an encoder's folder, and split these words and types.

    Raises:
        BadInputError: not an encoder, or one that cannot be read safely.
        MissingExtraError: `transformers` is not installed.
    """
    architecture = _read_architecture(folder)
    tokenizer, vocabulary_size = _read_tokenizer(folder)
    architecture["vocab_size"] = max(int(architecture["vocab_size"]), vocabulary_size)
    return Pretrained(architecture=architecture, subwords=Subwords(tokenizer, words, types))


def encoder_fingerprint(folder: Path) -> str:
    """Return a hash of the weights in an encoder's folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.safetensors")):
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def load_weights(parts: Mapping[range, nn.Module], folder: Path) -> None:
    """Load the folder's weights into networks that each have some of the layers and together have all of them.

    Marker tokens that the vocabulary in the folder lacks start at the mean of the others.
    """
    with _quiet():
        try:
            source = _transformers().AutoModel.from_pretrained(
                folder, local_files_only=True, use_safetensors=True, trust_remote_code=False, dtype=torch.float32
            )
        except (OSError, ValueError, RuntimeError, KeyError) as error:
            raise BadInputError(f"{folder}: its weights cannot be read ({first_line(error)})") from error
    whole, layers_name = _without_pooler(source).eval(), _layers_name(source)
    for layers, part in parts.items():
        part.load_state_dict(_weights_of(whole.state_dict(), part.state_dict(), layers, layers_name))
    _refuse_difference(folder, whole, list(parts.values()))


def _weights_of(
    found: dict[str, Tensor], wanted: dict[str, Tensor], layers: range, layers_name: str
) -> dict[str, Tensor]:
    """Return the weights of these layers, under the names that they have in a network with only these layers."""
    weights = {}
    for name, value in wanted.items():
        if name.startswith(layers_name):
            number, _, rest = name.removeprefix(layers_name).partition(".")
            weights[name] = found[f"{layers_name}{layers[int(number)]}.{rest}"]
            continue
        num_missing = len(value) - len(found[name]) if value.ndim else 0
        mean = found[name][:1] if not num_missing else found[name].mean(0, keepdim=True).expand(num_missing, -1)
        weights[name] = torch.cat([found[name], mean]) if num_missing else found[name]
    return weights


def _layers_name(network: nn.Module) -> str:
    num = network.config.num_hidden_layers  # type: ignore[union-attr]
    lists = (n for n, each in network.named_modules() if isinstance(each, nn.ModuleList) and len(each) == num)
    return f"{next(lists)}."


@torch.no_grad()
def _refuse_difference(folder: Path, whole: nn.Module, parts: Sequence[nn.Module]) -> None:
    """Raise `BadInputError` unless the parts, run in turn, give the same output as the whole network."""
    state = vector = whole.get_input_embeddings().weight[:8].unsqueeze(0)  # type: ignore[operator]
    for part in parts:
        was_training = part.training
        state = part.eval()(inputs_embeds=state).last_hidden_state
        part.train(was_training)
    if not torch.allclose(state, whole(inputs_embeds=vector).last_hidden_state, atol=1e-4):
        raise BadInputError(f"{folder}: the layers of this kind of encoder cannot be separated: set freeze_layers to 0")


def _without_pooler(network: nn.Module) -> nn.Module:
    if getattr(network, "pooler", None) is not None:
        network.pooler = None  # type: ignore[assignment]
    return network


def _read_architecture(folder: Path) -> dict[str, Any]:
    if not str(folder).strip("."):
        raise BadInputError(f"{_SETTING} is not set: set it to the folder of a pretrained encoder")
    path = folder / "config.json"
    if not path.is_file():
        kind = "has no config.json, so it is not a transformers model" if folder.is_dir() else "no such folder"
        raise BadInputError(
            f"{folder}: {kind}: set {_SETTING} to the folder of a pretrained encoder, such as BERT or MiniLM"
        )
    try:
        given = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadInputError(f"{path}: not JSON ({first_line(error)})") from error
    if not isinstance(given, dict) or "model_type" not in given:
        raise BadInputError(f"{path}: it has no model_type, so it is not a transformers model")
    if "auto_map" in given:
        raise BadInputError(f"{folder}: this model needs code from its own folder, which is never run: choose another")
    _refuse_other_than_encoders(folder, given)
    _refuse_pickles(folder)
    architecture: dict[str, Any] = _config_of(given).to_dict()
    return architecture


def _refuse_other_than_encoders(folder: Path, given: dict[str, Any]) -> None:
    known = _transformers().models.auto.modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    kind = given["model_type"]
    if given.get("is_encoder_decoder") or given.get("is_decoder") or kind not in known:
        raise BadInputError(
            f"{folder}: a model of type {kind} is not a bidirectional encoder: choose one such"
            " as BERT, MiniLM, MPNet, RoBERTa, DistilBERT, ELECTRA or DeBERTa"
        )


def _refuse_pickles(folder: Path) -> None:
    if any((folder / name).is_file() for name in ("model.safetensors", "model.safetensors.index.json")):
        return
    pickled = next((path.name for path in sorted(folder.glob("*.bin"))), None)
    if pickled:
        raise BadInputError(
            f"{folder}: {pickled} is a pickle, which is never loaded: save the model as model.safetensors"
        )
    raise BadInputError(f"{folder}: it has no model.safetensors: save the model as safetensors")


def _read_tokenizer(folder: Path) -> tuple[SubwordTokenizer, int]:
    """Return the tokenizer, with markers added if it has no unused tokens, and the size of its vocabulary."""
    with _quiet():
        try:
            tokenizer = _transformers().AutoTokenizer.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False
            )
        except Exception as error:  # the tokenizers library raises nothing more specific on a damaged file
            raise BadInputError(f"{folder}: its tokenizer cannot be read ({first_line(error)})") from error
    if not getattr(tokenizer, "is_fast", False):
        raise BadInputError(f"{folder}: its tokenizer returns no offsets: save a fast tokenizer (tokenizer.json)")
    backend = tokenizer.backend_tokenizer
    if any(backend.token_to_id(name) is None for name in _UNUSED):
        backend.add_special_tokens(list(_ADDED))
    names = _UNUSED if backend.token_to_id(_UNUSED[0]) is not None else _ADDED
    begin, end = (tokenizer.cls_token_id, tokenizer.bos_token_id), (tokenizer.sep_token_id, tokenizer.eos_token_id)
    ids = [next((each for each in some if each is not None), None) for some in (begin, end)]
    ids += [tokenizer.pad_token_id, tokenizer.unk_token_id]
    if None in ids[:3]:
        raise BadInputError(
            f"{folder}: its tokenizer lacks a token for the beginning or end of a sentence, or for padding"
        )
    ids[3] = ids[2] if ids[3] is None else ids[3]
    special = SpecialIds(*ids, *(backend.token_to_id(name) for name in names))  # type: ignore[arg-type]
    return SubwordTokenizer(text=backend.to_str(), special=special), backend.get_vocab_size()


def _config_of(architecture: dict[str, Any]) -> Any:
    return _transformers().AutoConfig.for_model(**architecture)


def _transformers() -> Any:
    try:
        return importlib.import_module("transformers")
    except ImportError:
        raise MissingExtraError("a pretrained encoder", "transformers") from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the progress bars and reports of transformers."""
    logging = _transformers().utils.logging
    level = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its name."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__
