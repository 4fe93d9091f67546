from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from model.variants import VARIANTS
from resealed import rewrite
from sayso import memory
from sayso.errors import BadInputError, UserError
from sayso.features.lexicon import Lexicon
from sayso.model.checkpoint import CONFIG, ENTITIES, IN_RUN, WEIGHTS, WORDS, ModelParts, load_model, save_model
from sayso.model.encoders.pcnn import PcnnConfig
from sayso.model.extractor import ModelConfig
from sayso.records import Relation
from sayso.store.direct import CorpusForm
from sayso.store.store import Store
from sayso.train.folder import MODEL
from toy_batch import NUM_ENTITIES, NUM_RELATIONS, NUM_TYPES, NUM_WORDS, make_batch, make_extractor
from toy_run import make_run, make_store, toy_config

CONFIGS = {**VARIANTS, "pcnn": ModelConfig(encoder=PcnnConfig(num_filters=5, output_width=8))}
RELATIONS = [Relation(f"r{k}", definition=f"what {k} means") for k in range(NUM_RELATIONS)]


def make_parts(config: ModelConfig) -> ModelParts:
    return ModelParts(
        extractor=make_extractor(config, dtype=torch.float32),
        lexicon=Lexicon(
            words=["<unknown>", *(f"wörd{i}" for i in range(1, NUM_WORDS))],
            entity_ids=[f"e{i}" for i in range(1, NUM_ENTITIES)],
            entity_names=[f"name {i}" for i in range(1, NUM_ENTITIES)],
            type_E=np.arange(NUM_ENTITIES - 1) % NUM_TYPES,
            types=[f"/type{i}" for i in range(NUM_TYPES)],
            form=CorpusForm(is_lower=True, is_joined=False),
            mentions="type",
            max_tokens=50,
        ),
        relations=RELATIONS,
        variant="CNNs+ATT+F",
        training={"seed": 7, "data_fingerprint": "abc", "validation": {"average_precision": 0.5}},
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_model(tmp_path / "m", make_parts(VARIANTS["attention+E"]))
    return tmp_path / "m"


def test_a_model_that_a_killed_process_had_moved_aside_is_loaded(folder: Path) -> None:
    folder.rename(folder.with_name(".m.0123abcd.replaced"))
    assert load_model(folder).variant == "CNNs+ATT+F"


def test_a_model_that_does_not_fit_into_memory_is_not_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 1_000)
    with pytest.raises(UserError, match=r"a model with [\d,]+ parameters needs about .* of memory"):
        load_model(folder)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_model_that_is_saved_and_loaded_gives_the_same_logits(config: ModelConfig, tmp_path: Path) -> None:
    parts, batch = make_parts(config), make_batch([2, 1, 3])
    save_model(tmp_path / "m", parts)
    loaded = load_model(tmp_path / "m")
    assert torch.equal(loaded.extractor(batch), parts.extractor(batch))
    assert loaded.extractor.config == config


def test_everything_else_comes_back_too(folder: Path) -> None:
    parts, loaded = make_parts(VARIANTS["attention+E"]), load_model(folder)
    assert (loaded.relations, loaded.variant, loaded.training) == (RELATIONS, parts.variant, parts.training)
    for name in ("words", "entity_ids", "entity_names", "types", "form", "mentions", "max_tokens"):
        assert getattr(loaded.lexicon, name) == getattr(parts.lexicon, name)
    assert loaded.lexicon.type_E.tolist() == parts.lexicon.type_E.tolist()


def test_the_card_names_data_seed_figures_and_use(folder: Path) -> None:
    card = (folder / "README.md").read_text()
    for words in ("# CNNs+ATT+F", "| abc |", "| seed | 7 |", "| 50.0 |", "sayso.load(", "## Limits", "`r4`"):
        assert words in card


def test_an_existing_model_is_replaced_only_when_asked(folder: Path) -> None:
    parts = make_parts(VARIANTS["direct"])
    with pytest.raises(UserError, match="not empty"):
        save_model(folder, parts)
    save_model(folder, parts, overwrite=True)
    assert load_model(folder).extractor.config == parts.extractor.config


def test_a_folder_with_something_else_in_it_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(UserError, match=r"contains thesis\.txt, which is not part of a model"):
        save_model(tmp_path, make_parts(VARIANTS["direct"]), overwrite=True)
    assert (tmp_path / "thesis.txt").exists()


@pytest.mark.parametrize("name", [CONFIG, WEIGHTS, WORDS, ENTITIES])
def test_a_truncated_file_is_named(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    found = r"expected \d[\d,]* bytes, got [\d,]+" if name != CONFIG else "not a valid model config"
    with pytest.raises(BadInputError, match=rf"{name}: {found}.*: train it again"):
        load_model(folder)


@pytest.mark.parametrize("name", [WEIGHTS, WORDS, ENTITIES])
def test_a_truncated_file_is_named_also_without_checksums(folder: Path, name: str) -> None:
    changed(folder, files=None)
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(BadInputError, match=rf"{name}: (not valid model weights|not a valid Arrow file)"):
        load_model(folder)


@pytest.mark.parametrize("name", [CONFIG, WEIGHTS, WORDS, ENTITIES])
def test_a_changed_byte_is_found_and_no_verify_trusts_it(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = bytearray((folder / name).read_bytes())
    # A letter of a word, an id or a relation's definition; of the weights the last byte of a number.
    at = len(content) - 1 if name == WEIGHTS else content.find({CONFIG: b"what", WORDS: b"rd1", ENTITIES: b"e1"}[name])
    content[at] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(BadInputError, match=rf"{name}: .*checksum differs\)?: train it again"):
        load_model(folder)
    monkeypatch.setenv("SAYSO_NO_VERIFY", "1")
    load_model(folder)


def test_weights_that_are_not_finite_are_refused(folder: Path) -> None:
    tensors = load_file(folder / WEIGHTS)
    tensors["scorer.bias_R"][0] = float("nan")
    save_file(tensors, folder / WEIGHTS)
    with pytest.raises(BadInputError, match=r"tensor scorer\.bias_R contains a value that is not finite"):
        load_model(changed(folder))


@pytest.mark.parametrize("name", [WEIGHTS, WORDS, ENTITIES])
def test_a_missing_or_foreign_file_is_named(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"\x80\x04pickle." * 9)
    with pytest.raises(BadInputError, match=f"{name}: not "):
        load_model(changed(folder))
    (folder / name).unlink()
    with pytest.raises(BadInputError, match=f"{name}: not "):
        load_model(folder)


def changed(folder: Path, **changes: object) -> Path:
    rewrite(folder / CONFIG, **changes)
    return folder


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 99}, "model format 99, but this version .* reads 1"),
        ({"model": {"encoder": {"kind": "cnm"}}}, "model.encoder.kind: 'cnm' is not one of .*did you mean cnn"),
        (
            {"model": {"encoder": {"kind": "cnn", "cnn": {"num_filters": 10**9}}}},
            "model.encoder.cnn.num_filters is 1000000000; it must be from 1 to 10,000",
        ),
        ({"relations": [{"name": "r"}]}, "tensor .* expects"),
        ({"relations": [{"title": "r"}]}, "not a valid model config"),
        ({"form": {}}, r"not a valid model config \(form.is_lower: missing\)"),
        ({"mentions": "wrods"}, "mentions: 'wrods' is not one of words, type, type_and_words; did you mean words?"),
        ({"max_tokens": 0}, "no tokens or no relations"),
        ({"training": [1]}, "training: expected a group of settings"),
        ({"variant": 5}, "variant: expected a string, got 5"),
        ({"types": ["/one"]}, "the files belong to different models"),
        ({"mentions": "words"}, r"tensor embedding.type_KW: config.json expects \(0, 6\), got \(4, 6\)"),
    ],
)
def test_settings_that_do_not_fit_are_refused(folder: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        load_model(changed(folder, **changes))


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("embedding.word_VW", (NUM_WORDS + 1, 6), "number of word vectors does not match the 30 words"),
        ("scorer.entity.entity_EV", (3, 3), "number of entity vectors does not match the 6 entities"),
        ("scorer.bias_R", (2,), r"tensor scorer.bias_R: config.json expects \(5,\), got \(2,\)"),
        ("scorer.surplus", (2,), r"tensor scorer.surplus: config.json expects no such tensor, got \(2,\)"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(folder: Path, name: str, shape: tuple[int, ...], message: str) -> None:
    save_file(load_file(folder / WEIGHTS) | {name: torch.zeros(shape)}, folder / WEIGHTS)
    with pytest.raises(BadInputError, match=message):
        load_model(changed(folder))


def test_a_missing_tensor_is_refused(folder: Path) -> None:
    tensors = load_file(folder / WEIGHTS)
    del tensors["scorer.bias_R"]
    save_file(tensors, folder / WEIGHTS)
    with pytest.raises(BadInputError, match=r"tensor scorer.bias_R: config.json expects \(5,\), got nothing"):
        load_model(changed(folder))


def test_a_finished_run_has_its_model_and_how_it_was_trained(tmp_path: Path) -> None:
    assert IN_RUN == MODEL
    store, config = make_store(tmp_path), toy_config()
    loaded = load_model(make_run(config, store, tmp_path / "run"))
    opened = Store(store)
    assert loaded.training["data_fingerprint"] == opened.fingerprint
    assert loaded.training["seed"] == config.seed
    assert 0.0 <= loaded.training["validation"]["average_precision"] <= 1.0
    assert loaded.lexicon.form == CorpusForm(**opened.manifest["form"]) == CorpusForm(is_lower=True, is_joined=True)
    assert loaded.lexicon.max_tokens == opened.manifest["settings"]["max_tokens"]
    assert len(loaded.lexicon.words) == len(opened.vector_VD)


def test_a_run_of_another_seed_gives_another_model(tmp_path: Path) -> None:
    store, config = make_store(tmp_path), toy_config()
    one, other = (
        load_model(make_run(replace(config, seed=seed), store, tmp_path / str(seed))).extractor for seed in (1, 2)
    )
    assert not torch.equal(one.scorer.relation_RD, other.scorer.relation_RD)
