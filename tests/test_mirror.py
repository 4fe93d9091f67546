"""Every module of sayso has a test file with the same path, or a line here that names the tests that cover it."""

from pathlib import Path

import pytest

from test_layers import SOURCE

TESTS = Path(__file__).parent

COVERED_BY = {
    "documents/corpus": "documents/test_build",
    "documents/settings": "documents/test_build",
    "evaluate/evaluation": "evaluate/test_report",
    "explain/trained_run": "explain/test_facts",
    "extract/folder": "extract/test_run",
    "extract/predict": "extract/test_run",
    "extract/settings": "extract/test_run",
    "extract/shard": "extract/test_run",
    "features/batch": "train/test_epoch",
    "features/lexicon": "features/test_user_input",
    "invent/articles": "invent/test_write",
    "model/card": "model/test_checkpoint",
    "model/encoders/base": "contracts/test_every_encoder",
    "model/kernels/base": "contracts/test_every_kernel",
    "model/kernels/compiler": "model/kernels/test_triton_kernel",
    "model/kernels/torch_kernel": "contracts/test_every_kernel",
    "model/subword_reads": "model/encoders/test_transformer",
    "project/stages": "project/test_run",
    "readers/json_line": "readers/test_jsonl",
    "reproduce/block": "reproduce/test_document",
    "reproduce/run": "cli/test_reproduce",
    "reproduce/summary": "reproduce/test_document",
    "reproduce/tables": "reproduce/test_document",
    "seeding": "train/test_epoch",
    "serve/access": "serve/test_sign_in",
    "serve/annotate/schemas": "serve/annotate/test_api",
    "serve/fact_table": "serve/predictions/test_table",
    "serve/workbench": "cli/test_serve",
    "store/collect": "store/test_group",
    "store/rows": "store/test_columns",
    "store/store": "store/test_prepare",
    "store/table": "store/test_columns",
    "train/warning": "train/test_data",
}


def modules() -> list[str]:
    paths = (path.relative_to(SOURCE).with_suffix("") for path in SOURCE.rglob("*.py"))
    return sorted(path.as_posix() for path in paths if not path.name.startswith("__"))


def mirrored(module: str) -> Path:
    folder, _, name = module.rpartition("/")
    return TESTS / folder / f"test_{name}.py"


@pytest.mark.parametrize("module", modules())
def test_a_module_has_its_test_file_or_a_line_that_names_one(module: str) -> None:
    covering = COVERED_BY.get(module)
    assert mirrored(module).exists() != bool(covering), "one of the two: a mirrored test file, or a line above"
    assert not covering or (TESTS / f"{covering}.py").exists()


def test_the_table_names_only_modules_that_exist() -> None:
    assert set(COVERED_BY) <= set(modules())
