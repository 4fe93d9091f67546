"""A fact of an extraction as templates show it: in the form of the facts of runs, so that they look alike."""

from sayso.facts.decided import Quote
from sayso.facts.extracted import FoundFact
from sayso.facts.support import support_sentence
from sayso.serve.predictions.shown import Bar, ShownFact, ShownSentence, Stretch


def support_text(fact: FoundFact, threshold: float | None) -> str:
    """Return what the prediction rests on, in a sentence; the threshold is the extraction's, where it is known."""
    return support_sentence(fact.support, fact.probability, threshold, fact.num_sentences)


def show_found(fact: FoundFact) -> ShownFact:
    """Return the fact's quotes, the first in rank first; sentences that the file does not hold count as hidden."""
    quotes = sorted(fact.quotes, key=lambda each: each.rank)
    peak = max((abs(each.score) for each in quotes), default=0.0) or 1.0
    return ShownFact(
        by=fact.mechanism,
        mechanisms=[fact.mechanism],
        sentences=[_sentence(fact, each, peak) for each in quotes],
        num_hidden=max(0, fact.num_sentences - len(quotes)),
    )


def _sentence(fact: FoundFact, quote: Quote, peak: float) -> ShownSentence:
    pieces = ((quote.prefix, ""), (quote.exact, "exact"), (quote.suffix, ""))
    bar = Bar(mechanism=fact.mechanism, score=quote.score, share=abs(quote.score) / peak, place=quote.rank)
    return ShownSentence(
        text=quote.sentence,
        place=quote.rank,
        rank=quote.rank,
        mark=quote.mark,
        # The smallest set is made of the first in rank.
        is_in_smallest=quote.rank <= fact.support.num_smallest,
        read=[Stretch(text=text, kind=kind, gap="") for text, kind in pieces if text],
        seen=[],
        bars=[bar],
        source=quote.place,
    )
