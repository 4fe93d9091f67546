import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from reproduce.toy_store import make_store
from resealed import rewrite
from sayso.errors import BadInputError
from sayso.reproduce.paper import VARIANTS
from sayso.reproduce.plan import GRID_VARIANTS, LAMBDAS, PlanSettings, make_plan, survey_store
from sayso.store.store import MANIFEST, Store


def test_the_paper_takes_54_runs_and_8_more_for_the_grid(store: Path) -> None:
    plan = make_plan(Store(store), PlanSettings())
    runs = Counter((job.variant, not job.label) for job in plan.runs)
    assert [runs[variant, True] for variant in VARIANTS] == [3] * 18
    assert [runs[variant, False] for variant in GRID_VARIANTS] == [4, 4]
    assert len({job.key for job in plan.runs}) == len(plan.runs) == 62
    assert plan.left_out == {}


def test_the_grid_and_the_runs_of_the_tables_together_try_every_weight(store: Path) -> None:
    plan = make_plan(Store(store), PlanSettings(variants=GRID_VARIANTS, num_seeds=1))
    for variant in GRID_VARIANTS:
        assert sorted(job.config.loss.distractor for job in plan.runs if job.variant == variant) == list(LAMBDAS)


def test_the_first_seed_of_all_variants_comes_before_the_second(store: Path) -> None:
    seeds = [job.config.seed for job in make_plan(Store(store), PlanSettings(has_grid=False)).runs]
    assert seeds == sorted(seeds)


def test_a_users_change_overrides_quick(store: Path) -> None:
    wish = PlanSettings(is_quick=True, changes=("train.max_epochs=2",))
    assert {job.config.train.max_epochs for job in make_plan(Store(store), wish).runs} == {2}


@pytest.mark.parametrize(
    ("left_out", "is_gone", "reason"),
    [
        (
            ("types",),
            lambda name: "+F" in name or "+LD" in name,
            "the store has no entity types (prepare it with --types)",
        ),
        (("direct",), lambda name: "DirectSup" in name, "the store has no directly supervised sentences"),
        (("vectors", "entity_vectors"), lambda name: name.endswith("+E"), "the store has no entity vectors"),
    ],
    ids=lambda case: case[0] if isinstance(case, tuple) else "",
)
def test_variants_without_data_are_left_out_and_the_others_run(
    tmp_path: Path, left_out: tuple[str, ...], is_gone, reason: str
) -> None:
    plan = make_plan(Store(make_store(tmp_path, *left_out)), PlanSettings(num_seeds=1, has_grid=False))
    gone = {name for name in VARIANTS if is_gone(name)}
    assert set(plan.left_out) == gone
    assert {job.variant for job in plan.runs} == set(VARIANTS) - gone
    assert all(line.startswith(reason) for line in plan.left_out.values())


def test_everything_that_a_variant_lacks_is_named_at_once(tmp_path: Path) -> None:
    bare = make_store(tmp_path, "types", "direct", "vectors", "entity_vectors")
    assert make_plan(Store(bare), PlanSettings()).left_out["DirectSup+F+E"] == (
        "the store has no entity types (prepare it with --types) and no entity vectors (prepare it with"
        " --entity-vectors or --vectors) and no directly supervised sentences (prepare it with --direct)"
    )


def test_a_store_without_a_test_part_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="the test part has no bag with a relation"):
        make_plan(Store(make_store(tmp_path, "test", "marks")), PlanSettings())


def test_a_store_on_which_nothing_can_be_trained_is_refused(tmp_path: Path) -> None:
    store = Store(make_store(tmp_path, "direct"))
    with pytest.raises(BadInputError, match="none of the variants can be trained"):
        make_plan(store, PlanSettings(variants=("DirectSup",)))


def changed(store: Path, folder: Path, num_sentences: int, **other: Any) -> Store:
    """Return the store as if its training file had had this many sentences."""
    shutil.copytree(store, folder / "store")
    path = folder / "store" / MANIFEST
    manifest = json.loads(path.read_text())
    manifest["inputs"]["train"]["sentences"] = num_sentences
    for name, value in other.items():
        manifest[name] |= value
    rewrite(path, **manifest)
    return Store(folder / "store")


@pytest.mark.parametrize(
    ("num_sentences", "known"),
    [
        (522_611, "the FB-NYT release that the paper uses (its Table 1 lists 90 % of the sentences)"),
        (570_088, "the FB-NYT release whose training file contains test pairs"),
        (60_823, "not the paper's release, judging by the counts"),
    ],
)
def test_a_release_is_known_by_its_number_of_sentences(
    store: Path, tmp_path: Path, num_sentences: int, known: str
) -> None:
    assert survey_store(changed(store, tmp_path, num_sentences))[0].endswith(known)


@pytest.mark.parametrize(
    ("leak", "said"), [("allow", "metrics will be TOO HIGH"), ("drop", "in the training file were left out")]
)
def test_test_pairs_in_training_are_reported(store: Path, tmp_path: Path, leak: str, said: str) -> None:
    lines = survey_store(changed(store, tmp_path, 9, leakage={"test_pairs_in_train": 7}, settings={"leak": leak}))
    assert any(line.startswith("leakage: 7 test pairs") and said in line for line in lines)


def test_vectors_types_direct_sentences_and_marks_are_counted(store: Path) -> None:
    assert survey_store(Store(store))[1:] == [
        "word vectors: width 8",
        "entity vectors: width name 8 + graph 4",
        "entity types: 3",
        "directly supervised sentences: 12",
        "marks by annotator not named: 18 on facts of the test part",
    ]
