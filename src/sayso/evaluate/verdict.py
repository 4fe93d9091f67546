"""A verdict in words."""

from sayso.records import Verdict


def verdict_sentence(verdict: Verdict, probability: float, threshold: float, num_sentences: int) -> str:
    """Return what a verdict says, in a sentence or two.

    >>> verdict_sentence(Verdict("not_predicted", 0, 0.1, 0.1, 0.05), 0.1, 0.5, 3)
    'No sentence here says so: the model gives 0.10, below 0.5.'
    """
    if verdict.kind == "not_predicted":
        return f"No sentence here says so: the model gives {probability:.2f}, below {threshold:g}."
    if verdict.kind == "no_sentence":
        return (
            f"No sentence here says so: without any sentence the model still gives {verdict.probability_of_none:.2f}"
            f" (with all {num_sentences:,}: {probability:.2f})."
        )
    return f"{_kept(verdict, num_sentences)} {_removed(verdict, num_sentences)}"


def _kept(verdict: Verdict, num_sentences: int) -> str:
    num, alone = verdict.num_smallest, verdict.probability_with
    if num_sentences == 1:
        return f"The one sentence carries the fact ({alone:.2f})."
    if num == num_sentences:
        return f"Only all {num:,} sentences together keep the prediction ({alone:.2f})."
    keep = "keeps" if num == 1 else "keep"
    return f"{num:,} of {num_sentences:,} sentences {keep} the prediction ({alone:.2f} without the others)."


def _removed(verdict: Verdict, num_sentences: int) -> str:
    left, without = num_sentences - verdict.num_smallest, verdict.probability_without
    if not left:
        return f"Without {'it' if num_sentences == 1 else 'them'} the probability is {without:.2f}."
    if verdict.kind == "repeated":
        others = "other sentence is" if left == 1 else f"{left:,} others together are"
        return f"The {others} enough too: without the smallest set the probability is still {without:.2f}."
    return f"Without {'it' if verdict.num_smallest == 1 else 'them'} the probability falls to {without:.2f}."
