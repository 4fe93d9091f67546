"""Tiny encoders with random weights, in folders as `transformers` saves them, or in memory."""

import json
from functools import cache
from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from sayso.features.subwords import SpecialIds, Subwords, SubwordTokenizer
from sayso.model.pretrained import Pretrained

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
UNUSED = [f"[unused{number}]" for number in range(1, 5)]
WIDTH = 16
SHAPE = {
    "hidden_size": WIDTH,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 64,
}
DISTILBERT = {"dim": WIDTH, "n_layers": 3, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": 64}
KINDS = ("bert", "mpnet", "roberta", "distilbert", "electra", "deberta", "deberta-v2")


def toy_tokenizer(has_unused: bool = True) -> Tokenizer:
    """Return a tokenizer of single letters and a few word pieces, in lower case."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,()-'"
    pieces = [*letters, *(f"##{letter}" for letter in letters), "the", "in", "of", "born", "city", "##ing"]
    names = [*SPECIAL, *(UNUSED if has_unused else []), *pieces]
    tokenizer = Tokenizer(models.WordPiece({name: number for number, name in enumerate(names)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    ids = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ids)
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=8)
    return tokenizer


def write_encoder(folder: Path, kind: str = "bert", has_unused: bool = True, seed: int = 0) -> Path:
    """Write a tiny encoder with random weights and return its folder."""
    transformers = pytest.importorskip("transformers")
    import torch

    tokenizer = toy_tokenizer(has_unused)
    shape = DISTILBERT if kind == "distilbert" else SHAPE
    config = transformers.AutoConfig.for_model(kind, vocab_size=tokenizer.get_vocab_size(), pad_token_id=0, **shape)
    torch.manual_seed(seed)
    transformers.AutoModel.from_config(config).save_pretrained(folder)
    roles = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    names = {f"{role}_token": name for role, name in roles.items()}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    return folder


@cache
def toy_pretrained(num_words: int, num_types: int, kind: str = "bert") -> Pretrained:
    """Return a tiny encoder for words and types with made-up names."""
    words = [f"{'abcdefghij'[number % 10] * (1 + number % 3)}{number}" for number in range(num_words)]
    types = [f"/kind/type_{number}" for number in range(num_types)]
    tokenizer = toy_tokenizer()
    ids = [tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]", "[PAD]", "[UNK]", *UNUSED)]
    shape = DISTILBERT if kind == "distilbert" else SHAPE
    return Pretrained(
        architecture={"model_type": kind, "vocab_size": tokenizer.get_vocab_size(), "pad_token_id": 0, **shape},
        subwords=Subwords(SubwordTokenizer(text=tokenizer.to_str(), special=SpecialIds(*ids)), words, types),
    )


def edit_config(folder: Path, **changes: object) -> None:
    """Change keys of an encoder's config.json."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
