import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from sayso.errors import BadInputError, UserError
from sayso.model import predict
from sayso.model.extractor import Extractor
from sayso.model.predict import predict_logits
from sayso.records import Mark
from sayso.train import loop
from sayso.train import run as run_module
from sayso.train.config import LossConfig, RunConfig, load_config
from sayso.train.folder import read_metrics
from sayso.train.loop import TrainingError
from sayso.train.run import Callbacks, train
from sayso.train.state import RunStatus
from toy import make_sentence
from train.toy_run import run_data, store_of, toy_config, with_labels

VARIANTS = {
    "CNNs+ATT+F+LD": toy_config(max_epochs=4),
    "DirectSup+F+LD": toy_config("direct", max_epochs=4),
    "DirectSup+FE+E": toy_config("direct", "type_and_words", 0.0, entities=True, max_epochs=4),
    "CNNs+OR with relation labels": with_labels(toy_config("noisy_or", "words", 0.0, max_epochs=4)),
    "CNNs+ATT with unknown facts": replace(
        toy_config(distractor=0.0, max_epochs=4), loss=LossConfig(known_share=0.6, compatible_na=0.5)
    ),
    "DirectSup with relation labels": with_labels(toy_config("direct", max_epochs=4)),
}
over_variants = pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)


class StopError(Exception):
    """The error that a test raises in a run."""


def stop_after(epoch: int) -> Callbacks:
    """Return callbacks that stop the run at the first step after this epoch."""

    def on_step(progress) -> None:
        if progress.epoch > epoch:
            raise StopError

    return Callbacks(on_step=on_step)


def with_dropout(config: RunConfig) -> RunConfig:
    encoder = replace(config.model.encoder, dropout=0.3)
    return replace(config, model=replace(config.model, encoder=encoder))


def same_tensors(first: Path, second: Path) -> bool:
    a, b = load_file(first), load_file(second)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@over_variants
def test_a_run_that_was_interrupted_and_resumed_ends_bit_for_bit_the_same(
    store: Path, tmp_path: Path, config: RunConfig
) -> None:
    config = with_dropout(config)
    straight = train(config, store, tmp_path / "straight", "cpu")
    with pytest.raises(StopError):
        train(config, store, tmp_path / "broken", "cpu", callbacks=stop_after(2))
    resumed = train(config, store, tmp_path / "broken", "cpu", resume=True)
    assert replace(resumed, seconds=0.0) == replace(straight, seconds=0.0)
    for name in ("state.safetensors", "model/model.safetensors"):
        assert same_tensors(tmp_path / "straight" / name, tmp_path / "broken" / name)
    rows = [[{**row, **dict.fromkeys(TIMES)} for row in read_metrics(tmp_path / run)] for run in ("straight", "broken")]
    assert rows[0] == rows[1]
    assert [row["epoch"] for row in rows[0]] == [1, 2, 3, 4]


TIMES = ("seconds", "train_seconds", "sentences_per_second")


def test_a_run_takes_the_steps_of_torchs_adam(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(toy_config(max_epochs=2), store, tmp_path / "ours")
    monkeypatch.setattr(loop, "_Adam", torch.optim.Adam)
    train(toy_config(max_epochs=2), store, tmp_path / "torchs")
    ours, torchs = (load_file(tmp_path / name / "state.safetensors") for name in ("ours", "torchs"))
    assert ours.keys() == torchs.keys()
    assert all(torch.equal(ours[key], torchs[key]) for key in ours)


def test_the_best_epoch_is_kept_and_training_ends_when_none_is_better(store: Path, tmp_path: Path) -> None:
    # So fast a learner finds its best epoch early.
    config = toy_config(max_epochs=20, patience=2, learning_rate=0.3)
    status = train(config, store, tmp_path, "cpu")
    rows = read_metrics(tmp_path)
    assert status.epoch < 20
    assert status.best_epoch == status.epoch - 2
    figures = [(row["validation/area_up_to_recall_0.4"], row["validation/average_precision"]) for row in rows]
    assert figures.index(max(figures)) + 1 == status.best_epoch
    assert (status.best_area, status.best_average_precision) == max(figures)


def test_the_last_epoch_is_kept_if_asked_for(store: Path, tmp_path: Path) -> None:
    settings = {"max_epochs": 6, "patience": 1, "learning_rate": 0.3}
    status = train(toy_config(**settings, keep="last"), store, tmp_path, "cpu")  # type: ignore[arg-type]
    areas = [row["validation/area_up_to_recall_0.4"] for row in read_metrics(tmp_path)]
    assert areas[-1] < max(areas), "this test needs a run whose last epoch is not its best"
    assert status.epoch == status.best_epoch == 6
    state, model = load_file(tmp_path / "state.safetensors"), load_file(tmp_path / "model" / "model.safetensors")
    name = "scorer.relation_RD"
    assert model[name].equal(state[f"model/{name}"])
    assert status.best_area == areas[-1]


def test_the_kept_model_is_the_best_epochs(store: Path, tmp_path: Path) -> None:
    config = toy_config(max_epochs=20, patience=2, learning_rate=0.3)
    status = train(config, store, tmp_path / "long", "cpu")
    train(toy_config(max_epochs=status.best_epoch, patience=2, learning_rate=0.3), store, tmp_path / "short", "cpu")
    short, kept = (load_file(tmp_path / run / "model" / "model.safetensors") for run in ("short", "long"))
    assert all(torch.equal(kept[name], short[name]) for name in short)


def test_a_run_that_has_ended_is_not_trained_again(store: Path, tmp_path: Path) -> None:
    first = train(toy_config(), store, tmp_path, "cpu")
    assert first.is_finished
    assert train(toy_config(), store, tmp_path, "cpu", resume=True, callbacks=stop_after(0)) == first


def test_resuming_without_a_state_starts_from_scratch(store: Path, tmp_path: Path) -> None:
    assert train(toy_config(), store, tmp_path, "cpu", resume=True).epoch == 2


def test_a_run_is_not_resumed_on_another_store_and_its_records_stay(store: Path, tmp_path: Path) -> None:
    sentences = [make_sentence(f"h{i} t{i}", f"h{i}", f"t{i}", ("r",)) for i in range(20)]
    other = store_of(tmp_path, sentences, types={"h1": ["/person"]})
    train(toy_config(), store, tmp_path / "run", "cpu")
    before = {path: path.read_bytes() for path in sorted((tmp_path / "run").glob("*.*"))}
    with pytest.raises(BadInputError, match="trained with data = "):
        train(toy_config(), other, tmp_path / "run", "cpu", resume=True)
    with pytest.raises(BadInputError, match=r"trained with config.train.learning_rate = 0.001, not 0.1"):
        train(toy_config(learning_rate=0.1), store, tmp_path / "run", "cpu", resume=True)
    assert {path: path.read_bytes() for path in sorted((tmp_path / "run").glob("*.*"))} == before


def test_without_resume_a_run_is_never_overwritten(store: Path, tmp_path: Path) -> None:
    train(toy_config(), store, tmp_path, "cpu")
    with pytest.raises(UserError, match="the folder already contains a run"):
        train(toy_config(), store, tmp_path, "cpu")


def test_a_second_training_into_the_folder_is_refused_and_changes_nothing(store: Path, tmp_path: Path) -> None:
    out, refusals = tmp_path / "run", []

    def train_another(_) -> None:
        before = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
        for resume in (False, True):
            with pytest.raises(UserError, match=r"`sayso train` is running in this folder \(process \d+\)") as refusal:
                train(toy_config(seed=14), store, out, "cpu", resume=resume)
            refusals.append(refusal)
        assert {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()} == before

    train(toy_config(max_epochs=1), store, out, "cpu", callbacks=Callbacks(on_begin=train_another))
    assert len(refusals) == 2
    assert load_config(out / "config.toml").seed == 13
    assert not (out / ".lock").exists()


def test_a_training_that_is_refused_leaves_no_folder(tmp_path: Path) -> None:
    sentences = [make_sentence("h met t", "h", "t")]
    with pytest.raises(BadInputError, match="no bag with a relation"):
        train(toy_config(), store_of(tmp_path, sentences, validation_share=0.0), tmp_path / "run", "cpu")
    assert not (tmp_path / "run").exists()


def test_a_model_that_does_not_fit_into_memory_is_refused_and_leaves_no_folder(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "free_bytes", lambda _: 1_000)
    with pytest.raises(UserError, match=r"a model with [\d,]+ parameters needs about .* of memory"):
        train(toy_config(), store, tmp_path / "run", "cpu")
    assert not (tmp_path / "run").exists()


def test_a_seed_that_is_drawn_is_stored_and_kept_when_resumed(store: Path, tmp_path: Path) -> None:
    drawn = toy_config(seed=-1)
    with pytest.raises(StopError):
        train(drawn, store, tmp_path, "cpu", callbacks=stop_after(1))
    seed = load_config(tmp_path / "config.toml").seed
    assert seed >= 0
    assert train(drawn, store, tmp_path, "cpu", resume=True).epoch == 2
    assert load_config(tmp_path / "config.toml").seed == seed


def test_numbers_that_overflow_stop_the_run_and_keep_the_last_good_epoch(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAYSO_NO_VERIFY", "1")
    with pytest.raises(StopError):
        train(toy_config(), store, tmp_path, "cpu", callbacks=stop_after(1))
    path = tmp_path / "state.safetensors"
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
    grown = {name: 1e30 * value if name.startswith("model/") else value for name, value in load_file(path).items()}
    save_file(grown, path, metadata)
    kept = path.read_bytes()
    with pytest.raises(TrainingError, match=r"epoch 2, batch 1: the .* is (nan|inf); the state after epoch 1 is kept"):
        train(toy_config(), store, tmp_path, "cpu", resume=True)
    assert path.read_bytes() == kept


@pytest.mark.parametrize("aggregator", ["attention", "direct"])
def test_a_loss_that_grows_but_stays_finite_stops_the_run(store: Path, tmp_path: Path, aggregator: str) -> None:
    message = (
        r"epoch 1, loss [\d.]+e\+\d+: training has diverged \(the initial loss was \d\S*\); .* train.learning_rate"
    )
    with pytest.raises(TrainingError, match=message):
        train(toy_config(aggregator, learning_rate=100.0), store, tmp_path, "cpu")
    assert not (tmp_path / "model").exists()


def test_a_loss_that_grows_after_good_epochs_keeps_the_last_of_them_and_is_compared_with_the_first(
    store: Path, tmp_path: Path
) -> None:
    with pytest.raises(StopError):
        train(toy_config(max_epochs=3), store, tmp_path, "cpu", callbacks=stop_after(1))
    rows = read_metrics(tmp_path)
    kept = (tmp_path / "state.safetensors").read_bytes()
    # As if the first epoch's loss had been far lower; what is below 1 counts as 1.
    (tmp_path / "metrics.jsonl").write_text(json.dumps(rows[0] | {"loss": 1e-9}) + "\n")
    with monkeypatched_growth(2.0), pytest.raises(TrainingError, match=r"epoch 2, .*; the state after epoch 1 is kept"):
        train(toy_config(max_epochs=3), store, tmp_path, "cpu", resume=True)
    assert (tmp_path / "state.safetensors").read_bytes() == kept


@contextmanager
def monkeypatched_growth(most: float) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "_MOST_GROWTH", most)
        yield


def test_a_weight_that_is_not_finite_stops_the_run(store: Path, tmp_path: Path) -> None:
    def spoil(progress) -> None:
        # After the last step, so that no batch shows it.
        if progress.step == progress.num_steps:
            spoiled[0].embedding.type_KW.data[-1] = float("nan")

    spoiled: list[Extractor] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_module, "Extractor", lambda *given: spoiled.append(Extractor(*given)) or spoiled[-1])
        with pytest.raises(TrainingError, match=r"epoch 1, loss \d\S*: a weight is not finite"):
            train(toy_config(), store, tmp_path, "cpu", callbacks=Callbacks(on_step=spoil))


def test_an_absurd_learning_rate_is_noticed_in_the_first_epoch(store: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"epoch 1, .*; no epoch was finished, so no state is kept: start again"):
        train(toy_config(learning_rate=1e30), store, tmp_path, "cpu")
    assert not (tmp_path / "state.safetensors").exists()


def test_a_relation_without_training_example_and_bags_of_one_sentence_train(tmp_path: Path) -> None:
    sentences = [make_sentence(f"h{i} met t{i}", f"h{i}", f"t{i}", ("r",) if i % 3 else ()) for i in range(40)]
    store = store_of(tmp_path, sentences, relations=("r", "never"), types={"h1": ["/person"]})
    described: list[dict] = []
    status = train(
        toy_config(mentions="words"), store, tmp_path / "run", "cpu", callbacks=Callbacks(on_begin=described.append)
    )
    assert status.epoch == 2
    assert any("no training bag and cannot be learned: never" in line for line in described[0]["warnings"])


def test_a_bag_of_5000_sentences_trains_capped_and_is_validated_whole_a_bounded_piece_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predict, "TOKENS_AT_A_TIME", 30_000)
    filler = " ".join(["and so on and on"] * 4)
    large = [make_sentence(f"a met b {filler} w{i % 97} v{i}", "a", "b", ("r",)) for i in range(5000)]
    small = [make_sentence(f"h{i} met t{i}", f"h{i}", f"t{i}", ("r",) if i % 2 else ()) for i in range(40)]
    store = store_of(tmp_path, [*large, *small], types={"a": ["/person"]})
    config = toy_config(mentions="words", max_epochs=1)
    assert train(config, store, tmp_path / "run", "cpu").epoch == 1
    data = run_data(store, config)
    part = max((data.train, data.validation), key=lambda part: part.table.size_B.max())
    extractor = Extractor(config.model, data.tables(), 1)
    sizes: list[int] = []
    extractor.encoder.register_forward_hook(lambda _module, args, _out: sizes.append(len(args[1].token_T)))
    logit_BR = predict_logits(extractor, part)
    assert logit_BR.shape[0] == part.table.num_bags
    assert sum(sizes) == len(part.inputs.tokens.value) > 2 * 30_000
    assert max(sizes) <= 30_000


def test_the_status_says_how_it_went(store: Path, tmp_path: Path) -> None:
    rows: list[dict] = []
    status = train(toy_config("direct"), store, tmp_path, "cpu", callbacks=Callbacks(on_epoch=rows.append))
    assert isinstance(status, RunStatus)
    assert [row["epoch"] for row in rows] == [1, 2]
    for row in rows:
        terms = [row["loss/bag"], row["loss/sentence"], row["loss/distractor"]]
        assert row["loss"] == pytest.approx(sum(terms))
    assert rows == read_metrics(tmp_path)


@pytest.mark.parametrize("aggregator", ["attention", "direct", "noisy_or"])
def test_a_run_learns_which_sentences_were_marked_as_rationales(tmp_path: Path, aggregator: str) -> None:
    texts = [(f"h{i} was born in t{i}", f"h{i} went to t{i}", f"h{i} saw t{i}") for i in range(20)]
    sentences = [make_sentence(text, f"h{i}", f"t{i}", ("r",)) for i in range(20) for text in texts[i]]
    labels = ("rationale", "irrelevant", "unsure")
    marks = [Mark(f"h{i}", f"t{i}", "r", texts[i][n], labels[n]) for i in range(10) for n in range(3)]
    store = store_of(tmp_path, sentences, marks=marks)
    config = toy_config(aggregator, "words", 0.0, max_epochs=8, batch_bags=4, learning_rate=0.02)
    loss = replace(config.loss, direct_sentences=0, mark_score=1.0, mark_ranking=1.0, marked_bags=3)
    train(replace(config, loss=loss), store, tmp_path / "run", "cpu")
    rows = read_metrics(tmp_path / "run")
    for term in ("loss/mark_score", "loss/mark_ranking"):
        assert rows[-1][term] < 0.5 * rows[0][term]
