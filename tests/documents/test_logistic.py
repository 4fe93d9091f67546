import numpy as np
from sklearn.linear_model import LogisticRegression

from sayso.documents.logistic import NUM_FEATURES, fit


def rows_of(seed: int, num: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Rows of 3 classes: each has one telling feature in two of three cases, and noise."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, num)
    rows = []
    for label in classes:
        telling = [int(label)] if rng.random() < 2 / 3 else []
        rows.append(np.array(sorted({*telling, *rng.integers(10, 60, 4).tolist()})))
    return rows, classes


def test_it_is_as_right_as_a_reference_on_rows_it_has_not_seen() -> None:
    rows, classes = rows_of(0, 600)
    fresh, expected = rows_of(1, 600)
    probabilities = fit(rows, classes, 3, seed=13).probabilities(fresh)

    def dense(rows: list[np.ndarray]) -> np.ndarray:
        return np.array([np.isin(np.arange(60), row) for row in rows], float)

    reference = LogisticRegression().fit(dense(rows), classes).score(dense(fresh), expected)
    assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    assert (probabilities.argmax(axis=1) == expected).mean() > reference - 0.04


def test_the_same_seed_gives_the_same_model() -> None:
    rows, classes = rows_of(0, 100)
    assert np.array_equal(fit(rows, classes, 3, 5).weight_FK, fit(rows, classes, 3, 5).weight_FK)
    assert fit(rows, classes, 3, 5).weight_FK.shape == (NUM_FEATURES, 3)
