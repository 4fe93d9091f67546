"""The configs in src/sayso/configs are the paper's variants; `best_*`, `baseline` and `recommended` are ours."""

from pathlib import Path

import pytest

from sayso.config import apply_changes, read_table
from sayso.train.config import config_of, load_config
from sayso.train.run import train
from toy_encoder import write_encoder

FOLDER = Path(__file__).parents[2] / "src" / "sayso" / "configs"
FILES = sorted(FOLDER.glob("*.toml"))
# The nine rows of the paper's table of areas, each without and with entity vectors.
ROWS = ["", "_f", "_fe", "_ld", "_f_ld"]
OURS = ("best_", "baseline", "recommended")
STEMS = {f"cnns_att{row}" for row in ROWS} | {f"directsup{row}" for row in ROWS if row != "_ld"}
SMALL = [
    "model.encoder.cnn.num_filters=4",
    "model.encoder.cnn.output_width=6",
    "train.max_epochs=1",
    "loss.direct_sentences=8",
    "loss.mark_score=0",  # the toy store has no marks to learn from
    "loss.mark_ranking=0",
]

each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def variant_of(stem: str) -> str:
    return (
        stem.removeprefix("best_").replace("cnns_att", "CNNs+ATT").replace("directsup", "DirectSup").replace("_", "+")
    )


def test_there_is_a_file_for_each_variant_of_the_paper_without_and_with_entities() -> None:
    of_paper = {path.stem for path in FILES if not path.stem.startswith(OURS)}
    assert of_paper == STEMS | {f"{stem}_e" for stem in STEMS}


@each_file
def test_the_file_is_complete_so_that_no_default_decides(path: Path) -> None:
    assert read_table(path) == load_config(path).to_table()


@each_file
def test_the_file_is_named_after_its_variant(path: Path) -> None:
    variant = load_config(path).variant
    assert (
        path.stem in ("baseline", "recommended", "recommended_cnn", "recommended_marks")
        or variant.lower() == variant_of(path.stem).lower()
    )
    assert path.read_text().startswith(f"# {variant}:")


@each_file
def test_every_setting_has_its_reason_beside_it(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if "=" in line.split("#")[0]]
    assert [line for line in lines if "# " not in line] == []


@pytest.mark.slow
@each_file
def test_the_variant_trains_at_toy_size(path: Path, store: Path, tmp_path: Path) -> None:
    encoder = write_encoder(tmp_path / "encoder")
    config = config_of(apply_changes(read_table(path), [*SMALL, f"model.encoder.transformer.folder={encoder}"]))
    status = train(config, store, tmp_path / "run", "cpu")
    assert status.epoch == 1
    assert 0 < status.best_average_precision <= 1
    assert (tmp_path / "run" / "model" / "model.safetensors").exists()
