import re
from pathlib import Path

import pytest

from sayso.errors import BadConfigError, UserError
from sayso.reproduce.paper import NINE, VARIANTS, variant_config, variants_named
from sayso.train.config import load_config

CONFIGS = Path(__file__).parents[2] / "src" / "sayso" / "configs"


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_has_the_settings_of_its_file_in_configs(variant: str) -> None:
    path = CONFIGS / f"{variant.lower().replace('+', '_')}.toml"
    assert variant_config(variant) == load_config(path)
    assert variant_config(variant).variant == variant


def test_variants_come_in_the_papers_order_and_default_to_all() -> None:
    assert variants_named([]) == VARIANTS
    assert variants_named(["DirectSup", "CNNs+ATT"]) == NINE[:2]


def test_an_unknown_variant_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(UserError, match=r"variants CNN\+ATT: no such variant; did you mean CNNs\+ATT\?"):
        variants_named(["CNN+ATT"])


def test_a_change_applies_to_every_run() -> None:
    assert variant_config("CNNs+ATT+LD", ["loss.distractor=10", "train.max_epochs=2"]).loss.distractor == 10


@pytest.mark.parametrize(
    ("change", "other"),
    [
        ("loss.distractor=1.0", "CNNs+ATT+LD"),
        ("data.mentions=type", "CNNs+ATT+F"),
        ("model.use_entities=true", "CNNs+ATT+E"),
        ("model.aggregator.kind=direct", "DirectSup"),
    ],
)
def test_a_change_that_makes_another_variant_is_refused(change: str, other: str) -> None:
    with pytest.raises(BadConfigError, match=re.escape(f"this turns CNNs+ATT into {other};")):
        variant_config("CNNs+ATT", [change])


def test_another_encoder_is_a_setting_of_every_variant() -> None:
    assert variant_config("CNNs+ATT", ["model.encoder.kind=pcnn"]).variant == "PCNNs+ATT"
