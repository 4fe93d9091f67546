"""Sentences to vectors: one file per kind.

ENCODERS maps a kind's name to its settings and its module; a new kind is one file, one line here and one heading in
the docs.
"""

from sayso.model.encoders.base import Encoder, EncoderConfig
from sayso.model.encoders.cnn import CnnConfig, CnnEncoder
from sayso.model.encoders.pcnn import PcnnConfig, PcnnEncoder

ENCODERS: dict[str, tuple[type[EncoderConfig], type[Encoder]]] = {
    "cnn": (CnnConfig, CnnEncoder),
    "pcnn": (PcnnConfig, PcnnEncoder),
}
