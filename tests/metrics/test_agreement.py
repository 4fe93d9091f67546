import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from sayso.metrics.agreement import cohen_kappa, krippendorff_alpha, percent_agreement

mark = st.sampled_from(["rationale", "irrelevant", "unsure"])
mark_pairs = st.lists(st.tuples(mark, mark), min_size=1, max_size=20)


@given(mark_pairs)
def test_kappa_equals_that_of_sklearn(pairs) -> None:
    first, second = zip(*pairs, strict=True)
    kappa = cohen_kappa(first, second)
    if len({*first, *second}) == 1:
        assert kappa is None
    else:
        assert kappa == pytest.approx(cohen_kappa_score(first, second))


@given(st.lists(mark, min_size=2, max_size=20).filter(lambda marks: len(set(marks)) > 1))
def test_identical_marks_agree_completely(marks) -> None:
    assert percent_agreement(marks, marks) == 1
    assert cohen_kappa(marks, marks) == 1
    assert krippendorff_alpha([marks, marks, marks]) == 1


@given(mark_pairs)
def test_the_order_of_the_annotators_does_not_matter(pairs) -> None:
    first, second = zip(*pairs, strict=True)
    assert percent_agreement(first, second) == percent_agreement(second, first)
    assert cohen_kappa(first, second) == cohen_kappa(second, first)
    assert krippendorff_alpha([first, second]) == krippendorff_alpha([second, first])


def read(row: str) -> list[str | None]:
    return [None if mark == "." else mark for mark in row.split()]


@pytest.mark.parametrize(
    ("rows", "alpha"),
    [
        # The worked examples A, B and C of Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011.
        (["0 1 0 0 0 0 0 0 1 0", "1 1 1 0 0 1 0 0 0 0"], 0.095),
        (["a a b b d c c c e d d a", "b a b b b c c c e d d d"], 0.692),
        (
            [
                "1 2 3 3 2 1 4 1 2 . . .",
                "1 2 3 3 2 2 4 1 2 5 . 3",
                ". 3 3 3 2 3 4 2 2 5 1 .",
                "1 2 3 3 2 4 4 1 2 5 1 .",
            ],
            0.743,
        ),
    ],
)
def test_alpha_gives_the_published_values(rows, alpha) -> None:
    assert krippendorff_alpha([read(row) for row in rows]) == pytest.approx(alpha, abs=0.0005)


def test_units_without_a_second_mark_change_nothing() -> None:
    first, second = ["a", "b", "a"], ["a", "b", "b"]
    assert krippendorff_alpha([[*first, "b"], [*second, None]]) == krippendorff_alpha([first, second])
    assert cohen_kappa([*first, "b"], [*second, None]) == cohen_kappa(first, second)
    assert percent_agreement([*first, None], [*second, "a"]) == pytest.approx(2 / 3)


@pytest.mark.parametrize(("first", "second"), [([], []), (["a", None], [None, "b"])])
def test_nothing_marked_twice_gives_no_figure(first, second) -> None:
    assert percent_agreement(first, second) is None
    assert cohen_kappa(first, second) is None
    assert krippendorff_alpha([first, second]) is None


def test_identical_marks_leave_chance_corrected_figures_undefined() -> None:
    assert percent_agreement(["a", "a"], ["a", "a"]) == 1
    assert cohen_kappa(["a", "a"], ["a", "a"]) is None
    assert krippendorff_alpha([["a", "a"], ["a", "a"]]) is None


def test_lists_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="longer than argument 1"):
        cohen_kappa(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="longer than argument 1"):
        krippendorff_alpha([["a"], ["a", "b"]])
