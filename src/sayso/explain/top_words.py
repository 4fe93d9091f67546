"""Which words carried the sentences that count most.

Shapes: F facts, T tokens. A token is what the model reads: a word, or the type that stands for a mention.
"""

from dataclasses import dataclass

import numpy as np
import torch

from sayso.explain.facts import ExplainedFacts
from sayso.explain.subset import pieces
from sayso.explain.words import word_scores
from sayso.features.collate import Part, collate
from sayso.model.extractor import Extractor
from sayso.store.rows import Rows

NUM_TOP = 3
"""Words have scores in this many sentences of each fact."""
_TOKENS_AT_A_TIME = 16_384


@dataclass(frozen=True, kw_only=True)
class WordScores:
    """Sentences of facts with a score per token: the fact, the sentence of the part, its tokens and their scores."""

    fact_W: np.ndarray
    sentence_W: np.ndarray
    tokens: Rows
    scores: Rows


def top_word_scores(extractor: Extractor, part: Part, explained: ExplainedFacts, num_top: int = NUM_TOP) -> WordScores:
    """Return the scores of the words in the first sentences of each fact, of which sentences are rows of the part."""
    length_E = part.presented.tokens.length[explained.sentences.value]
    fact_E = np.repeat(np.arange(len(explained.sentences)), explained.sentences.length)
    tokens_F = np.bincount(fact_E, length_E, minlength=len(explained.sentences)).astype(np.int64)
    scores = [np.zeros(0, np.float32)]
    for facts in pieces(tokens_F, _TOKENS_AT_A_TIME):
        batch = collate(part, explained.bag_F[facts]).to(extractor.scorer.bias_R.device)
        relation_B = torch.from_numpy(explained.relation_F[facts]).to(extractor.scorer.bias_R.device)
        scores.append(word_scores(extractor, batch.sentences, batch.bags, relation_B).cpu().numpy())
    kept = np.flatnonzero(explained.rank_E <= num_top)
    sentence_W = explained.sentences.value[kept]
    return WordScores(
        fact_W=fact_E[kept],
        sentence_W=sentence_W,
        tokens=part.presented.tokens.take(sentence_W),
        scores=Rows.of_lengths(np.concatenate(scores), length_E).take(kept),
    )
