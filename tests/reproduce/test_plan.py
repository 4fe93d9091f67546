from collections import Counter
from pathlib import Path

import pytest

from reproduce.toy_store import make_store
from sayso.errors import BadInputError
from sayso.reproduce.plan import GRID_VARIANTS, LAMBDAS, Wish, make_plan
from sayso.reproduce.variant import VARIANTS
from sayso.store.store import Store


def test_the_paper_takes_54_runs_and_8_more_for_the_grid(store: Path) -> None:
    plan = make_plan(Store(store), Wish())
    runs = Counter((job.variant, not job.label) for job in plan.jobs)
    assert [runs[variant, True] for variant in VARIANTS] == [3] * 18
    assert [runs[variant, False] for variant in GRID_VARIANTS] == [4, 4]
    assert len({job.key for job in plan.jobs}) == len(plan.jobs) == 62
    assert plan.left_out == {}


def test_the_grid_and_the_runs_of_the_tables_together_try_every_weight(store: Path) -> None:
    plan = make_plan(Store(store), Wish(variants=GRID_VARIANTS, num_seeds=1))
    for variant in GRID_VARIANTS:
        assert sorted(job.config.loss.distractor for job in plan.jobs if job.variant == variant) == list(LAMBDAS)


def test_the_first_seed_of_all_variants_comes_before_the_second(store: Path) -> None:
    seeds = [job.config.seed for job in make_plan(Store(store), Wish(has_grid=False)).jobs]
    assert seeds == sorted(seeds)


def test_a_users_change_has_the_last_word_over_quick(store: Path) -> None:
    wish = Wish(is_quick=True, changes=("train.max_epochs=2",))
    assert {job.config.train.max_epochs for job in make_plan(Store(store), wish).jobs} == {2}


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
def test_variants_that_need_what_the_store_lacks_are_left_out_and_the_rest_runs(
    tmp_path: Path, left_out: tuple[str, ...], is_gone, reason: str
) -> None:
    plan = make_plan(Store(make_store(tmp_path, *left_out)), Wish(num_seeds=1, has_grid=False))
    gone = {name for name in VARIANTS if is_gone(name)}
    assert set(plan.left_out) == gone
    assert {job.variant for job in plan.jobs} == set(VARIANTS) - gone
    assert all(line.startswith(reason) for line in plan.left_out.values())


def test_all_that_a_variant_lacks_is_named_at_once(tmp_path: Path) -> None:
    bare = make_store(tmp_path, "types", "direct", "vectors", "entity_vectors")
    assert make_plan(Store(bare), Wish()).left_out["DirectSup+F+E"] == (
        "the store has no entity types (prepare it with --types) and no entity vectors (prepare it with"
        " --entity-vectors or --vectors) and no directly supervised sentences (prepare it with --direct)"
    )


def test_a_store_without_a_test_part_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="the test part has no bag with a relation"):
        make_plan(Store(make_store(tmp_path, "test", "marks")), Wish())


def test_a_store_on_which_nothing_can_be_trained_is_refused(tmp_path: Path) -> None:
    store = Store(make_store(tmp_path, "direct"))
    with pytest.raises(BadInputError, match="none of the variants can be trained"):
        make_plan(store, Wish(variants=("DirectSup",)))
