from itertools import chain

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from explain.cases import make_case, over_variants, plain_value
from sayso.explain.sub_bag import slices, slices_by_cost, sub_bag_logits
from sayso.model.extractor import ModelConfig
from sayso.store.rows import Rows


@given(st.integers(0, 40), st.integers(1, 9))
def test_slices_cover_everything_in_order(num: int, at_a_time: int) -> None:
    parts = [range(num)[part] for part in slices(num, at_a_time)]
    assert list(chain(*parts)) == list(range(num))
    assert all(1 <= len(part) <= at_a_time for part in parts)


@given(st.lists(st.integers(0, 9)), st.integers(1, 12))
def test_slices_by_cost_keep_the_limit_unless_one_item_exceeds_it(cost: list[int], limit: int) -> None:
    parts = [cost[part] for part in slices_by_cost(cost, limit)]
    assert list(chain(*parts)) == cost
    assert all(part and (len(part) == 1 or sum(part) <= limit) for part in parts)


@over_variants
def test_logits_are_those_of_the_bag_made_of_these_sentences(config: ModelConfig) -> None:
    extractor, vector_ND, bags = make_case(config)
    # Sentences 1 to 4 are bag 1, 6 to 12 bag 3; the second and the last part are empty.
    parts = [([4, 2], 1), ([], 3), ([6], 3), ([12, 8, 7], 3), ([], 0)]
    sentences = Rows.of_lengths(
        np.array([row for rows, _ in parts for row in rows]), np.array([len(rows) for rows, _ in parts])
    )
    found = sub_bag_logits(extractor, vector_ND, bags, np.array([bag for _, bag in parts]), sentences)
    expected = torch.stack([plain_value(extractor, vector_ND[rows], bags, bag) for rows, bag in parts])
    torch.testing.assert_close(found.detach(), expected, atol=1e-12, rtol=1e-12)
