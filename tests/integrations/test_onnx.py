import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sayso.cli import app
from sayso.errors import MissingExtraError
from sayso.integrations.onnx import OUTPUT, TOLERANCE, export_onnx, onnx_inputs
from sayso.library import load
from sayso.model.aggregators.attention import AttentionConfig
from sayso.model.aggregators.direct import DirectConfig
from sayso.model.aggregators.noisy_or import NoisyOrConfig
from sayso.model.encoders.transformer import TransformerConfig
from sayso.records import Bag
from toy_encoder import write_encoder
from toy_run import make_run, make_store, toy_config


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("onnx"))


@pytest.mark.slow
@pytest.mark.parametrize("aggregator", [AttentionConfig(), DirectConfig(hidden_width=4)], ids=["attention", "direct"])
@pytest.mark.parametrize("use_entities", [False, True], ids=["", "+E"])
def test_the_exported_file_gives_torchs_logits(aggregator, use_entities: bool, store: Path, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    run = make_run(toy_config("type_and_words", aggregator, use_entities), store, tmp_path / "run")
    out = tmp_path / "model.onnx"
    result = CliRunner().invoke(app, ["export", str(run), "--out", str(out)], catch_exceptions=False)
    assert "largest difference from torch" in result.stdout
    model = load(run)
    bags = [
        Bag.from_sentences(["port_town2 of north_land2", "north_land2 , port_town2"], "north_land2", "port_town2"),
        Bag.from_sentences(["zoe was born in oslo ."], "zoe", "oslo"),
    ]
    session = onnxruntime.InferenceSession(out)
    (logit_BR,) = session.run([OUTPUT], onnx_inputs(model, bags))
    np.testing.assert_allclose(1 / (1 + np.exp(-logit_BR)), model.predict_proba(bags), atol=TOLERANCE)
    about = session.get_modelmeta().custom_metadata_map
    assert (about["variant"], json.loads(about["relations"])) == (model.variant, list(model.relations))


def test_without_the_extra_one_line_says_what_to_install(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(make_run(toy_config(), store, tmp_path / "run"))
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sayso\[onnx\]'"):
        export_onnx(model, tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()


@pytest.mark.slow
def test_a_model_with_a_pretrained_encoder_is_exported_whole(store: Path, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    plain = toy_config("type_and_words", NoisyOrConfig(context=True))
    encoder = TransformerConfig(folder=str(write_encoder(tmp_path / "encoder")), output_width=8, max_length=48)
    run = make_run(replace(plain, model=replace(plain.model, encoder=encoder)), store, tmp_path / "run")
    model, out = load(run), tmp_path / "model.onnx"
    assert export_onnx(model, out) <= TOLERANCE
    bags = [
        Bag.from_sentences(["port_town2 of north_land2", "north_land2 , port_town2"], "north_land2", "port_town2"),
        Bag.from_sentences(["zoe was born in oslo , a rather unusual place to be born in ."], "zoe", "oslo"),
    ]
    (logit_BR,) = onnxruntime.InferenceSession(out).run([OUTPUT], onnx_inputs(model, bags))
    np.testing.assert_allclose(1 / (1 + np.exp(-logit_BR)), model.predict_proba(bags), atol=TOLERANCE)
