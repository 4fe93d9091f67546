"""What a prediction rests on, in words: what taking sentences away does to the model, not what is true."""

from sayso.records import (
    NOT_PREDICTED,
    NOT_SENTENCES,
    SENTENCES_TOGETHER,
    SEVERAL_SENTENCES,
    SUPPORT_LABELS,
    Support,
)


def support_sentence(support: Support, probability: float, threshold: float | None, num_sentences: int) -> str:
    """Return what a prediction rests on, in a sentence that names the threshold; None where it is not known.

    >>> support_sentence(Support("not_predicted", 0, 0.1, 0.1, 0.05), 0.04, 0.5, 3)
    'Not predicted (0.04 is below the threshold 0.5).'
    """
    # Files of 0.1 do not say how many sentences are each enough.
    is_counted = support.kind != SEVERAL_SENTENCES or support.num_enough is not None
    kind = support.kind if is_counted else SENTENCES_TOGETHER
    label = SUPPORT_LABELS.get(kind, kind).capitalize()
    if support.kind == NOT_PREDICTED:
        return f"{label} ({_below(probability, threshold)})."
    if threshold is not None:
        label += f" at the threshold {threshold:g}"
    if support.kind == NOT_SENTENCES:
        return (
            f"{label}: without any sentence the model still gives {support.probability_of_none:.2f}"
            f" (with all {num_sentences:,}: {probability:.2f})."
        )
    if num_sentences == 1:
        return f"{label}: without it the probability falls from {probability:.2f} to {support.probability_without:.2f}."
    if kind == SEVERAL_SENTENCES:
        return f"{label}: {_enough(support, num_sentences)}"
    return f"{label}: {_kept(support, num_sentences)}{_removed(support, num_sentences)}"


def _below(probability: float, threshold: float | None) -> str:
    """Return the comparison with as many digits as show that it is true."""
    if threshold is None:
        return f"{probability:.2f} is below the threshold"
    texts = (f"{probability:.{digits}f}" for digits in range(2, 17))
    shown = next((text for text in texts if float(text) < threshold), repr(probability))
    return f"{shown} is below the threshold {threshold:g}"


def _enough(support: Support, num_sentences: int) -> str:
    left = num_sentences - support.num_smallest
    best = "one" if support.num_smallest == 1 else f"{support.num_smallest:,}"
    others = "the other still gives" if left == 1 else "the others still give"
    return (
        f"{support.num_enough:,} of {num_sentences:,} sentences are each enough;"
        f" without the best {best} {others} {support.probability_without:.2f}."
    )


def _kept(support: Support, num_sentences: int) -> str:
    num, alone = support.num_smallest, support.probability_with
    if num == num_sentences:
        return f"only all {num:,} keep the prediction ({alone:.2f})"
    keep = "keeps" if num == 1 else "together keep"
    return f"{num:,} of {num_sentences:,} {keep} the prediction ({alone:.2f} without the others)"


def _removed(support: Support, num_sentences: int) -> str:
    left, without = num_sentences - support.num_smallest, support.probability_without
    if support.kind == SEVERAL_SENTENCES or support.num_enough is not None:
        others = "the other does too" if left == 1 else f"the {left:,} others together do too"
        return f", and {others} ({without:.2f})."
    them = "it" if support.num_smallest == 1 else "them"
    return f"; without {them} the probability falls to {without:.2f}."
