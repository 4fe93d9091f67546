"""Builds marked facts: each fact is a list of (score, mark), mark 1 rationale, 0 irrelevant, -1 neither."""

import numpy as np
from hypothesis import strategies as st

from sayso.metrics.rationale import MarkedFacts


def marked_facts(*facts, bags=None, probabilities=None):
    sentences = [sentence for fact in facts for sentence in fact]
    return MarkedFacts(
        score_N=np.array([score for score, _ in sentences], dtype=np.float64),
        mark_N=np.array([mark for _, mark in sentences], dtype=np.int64),
        start_F1=np.cumsum([0, *map(len, facts)]),
        bag_F=np.arange(len(facts)) if bags is None else np.array(bags),
        probability_F=np.ones(len(facts)) if probabilities is None else np.array(probabilities, dtype=np.float64),
    )


# Few distinct scores, so that ties are common.
fact_lists = st.lists(
    st.lists(st.tuples(st.sampled_from([-1.5, 0.0, 0.5, 2.0, np.inf]), st.sampled_from([1, 0, -1])), max_size=6),
    max_size=6,
)
