"""Encoders, from sentences to vectors: one file per kind.

ENCODERS maps a kind's name to its settings and its module; to add a kind, write a file, and add a line here and a
heading in the docs.
"""

from sayso.model.encoders.base import Encoder, EncoderConfig
from sayso.model.encoders.cnn import CnnConfig, CnnEncoder
from sayso.model.encoders.pcnn import PcnnConfig, PcnnEncoder
from sayso.model.encoders.transformer import TransformerConfig, TransformerEncoder
from sayso.model.encoders.words import WordsConfig, WordsEncoder

ENCODERS: dict[str, tuple[type[EncoderConfig], type[Encoder]]] = {
    "cnn": (CnnConfig, CnnEncoder),
    "pcnn": (PcnnConfig, PcnnEncoder),
    "transformer": (TransformerConfig, TransformerEncoder),
    "words": (WordsConfig, WordsEncoder),
}
