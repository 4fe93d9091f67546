import json
import sys
from pathlib import Path

import pytest

from sayso.errors import BadInputError, MissingExtraError
from sayso.model.pretrained import encoder_fingerprint, read_pretrained
from toy_encoder import SHAPE, edit_config, write_encoder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_encoder(tmp_path / "encoder")


def refused(folder: Path) -> str:
    with pytest.raises(BadInputError) as caught:
        read_pretrained(folder, ["a"], ["/other"])
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_an_encoder_is_read_with_its_sizes(folder: Path) -> None:
    pretrained = read_pretrained(folder, ["the", "city"], ["/other"])
    assert (pretrained.width, pretrained.num_layers, pretrained.max_length) == (
        SHAPE["hidden_size"],
        SHAPE["num_hidden_layers"],
        SHAPE["max_position_embeddings"],
    )
    assert len(pretrained.subwords.rows) == 3


def test_a_folder_that_is_no_encoder_is_refused(tmp_path: Path, folder: Path) -> None:
    assert "no such folder" in refused(tmp_path / "missing")
    (tmp_path / "empty").mkdir()
    assert "has no config.json" in refused(tmp_path / "empty")
    assert "folder is not set" in refused(Path())
    (folder / "config.json").write_text("{")
    assert "not JSON" in refused(folder)
    (folder / "config.json").write_text('{"a": 1}')
    assert "has no model_type" in refused(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "gpt2"}, "a model of type gpt2 is not a bidirectional encoder"),
        ({"model_type": "t5"}, "a model of type t5 is not a bidirectional encoder"),
        ({"is_decoder": True}, "is not a bidirectional encoder"),
        ({"auto_map": {"AutoModel": "evil.Model"}}, "needs code from its own folder, which is never run"),
    ],
)
def test_other_kinds_of_models_are_refused(folder: Path, changes: dict[str, object], message: str) -> None:
    (folder / "evil.py").write_text("raise SystemExit('this was run')")
    edit_config(folder, **changes)
    assert message in refused(folder)


def test_pickled_weights_are_refused_and_not_read(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "pytorch_model.bin is a pickle, which is never loaded: save the model as model.safetensors" in refused(
        folder
    )
    (folder / "pytorch_model.bin").unlink()
    assert "has no model.safetensors" in refused(folder)


def test_a_damaged_tokenizer_is_refused(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")
    assert "its tokenizer cannot be read" in refused(folder)


def test_a_tokenizer_without_offsets_is_refused(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"tokenizer_class": "CanineTokenizer"}))
    assert "its tokenizer returns no offsets: save a fast tokenizer (tokenizer.json)" in refused(folder)


def test_a_missing_library_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sayso\[transformers\]'"):
        read_pretrained(folder, ["a"], ["/other"])


def test_the_fingerprint_tells_weights_apart(folder: Path, tmp_path: Path) -> None:
    other = write_encoder(tmp_path / "other", seed=1)
    assert encoder_fingerprint(folder) == encoder_fingerprint(folder) != encoder_fingerprint(other)
    assert json.loads((folder / "config.json").read_text())["model_type"] == "bert"
