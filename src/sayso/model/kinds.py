"""The kinds of components by name, as config files and model folders write them."""

from sayso.config import Kinds
from sayso.model.aggregators import AGGREGATORS
from sayso.model.aggregators.base import AggregatorConfig
from sayso.model.encoders import ENCODERS
from sayso.model.encoders.base import EncoderConfig

KINDS: Kinds = {
    EncoderConfig: {name: config for name, (config, _) in ENCODERS.items()},
    AggregatorConfig: {name: config for name, (config, _) in AGGREGATORS.items()},
}
