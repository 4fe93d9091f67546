from pathlib import Path

import pytest

from sayso.configs import config_names, describe_config, find_config
from sayso.errors import BadConfigError
from sayso.train.config import load_config


@pytest.mark.parametrize("name", config_names())
def test_a_config_is_found_by_its_name_and_by_its_variant(name: str) -> None:
    assert find_config(name).stem == name
    variant = load_config(name).variant
    if not name.startswith(("best_", "baseline", "recommended")):
        assert find_config(variant) == find_config(name)
    assert describe_config(name).startswith(f"{variant}: ")
    assert "\n" not in describe_config(name)


def test_what_is_said_of_entity_vectors_is_what_training_asks_for() -> None:
    assert describe_config("cnns_att_e").endswith("(the store needs --entity-vectors or --vectors)")
    assert describe_config("directsup_f_e").endswith(
        "(the store needs --direct, --types, and --entity-vectors or --vectors)"
    )


def test_a_path_is_taken_as_it_is_and_a_folder_does_not_hide_a_name(tmp_path: Path, monkeypatch) -> None:
    own = tmp_path / "own.toml"
    own.write_text("seed = 4\n")
    assert find_config(own) == own
    assert load_config(str(own)).seed == 4
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cnns_att").mkdir()
    assert load_config("cnns_att").variant == "CNNs+ATT"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("cnns_at", "cnns_at: no config has this name; did you mean cnns_att"),
        ("configs/cnns_att_f_ld.toml", "toml: no such file or directory; did you mean cnns_att_f_ld or"),
        ("zzz", "zzz: no config has this name; choose one of baseline, best_directsup, cnns_att, "),
    ],
)
def test_what_is_neither_a_name_nor_a_file_is_refused_with_the_nearest_names(config: str, message: str) -> None:
    with pytest.raises(BadConfigError, match=message):
        find_config(config)
