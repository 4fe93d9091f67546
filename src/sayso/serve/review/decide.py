"""A decision on a fact of an extraction, with the sentences that its file holds."""

from sayso.annotate.people import Annotator, now
from sayso.serve.decisions.decide import save
from sayso.serve.review.answers import FoundDecision
from sayso.serve.review.deps import find_found
from sayso.serve.review.file import FoundFile
from sayso.serve.state import Workbench


def save_found_decision(bench: Workbench, who: Annotator, file: FoundFile, given: FoundDecision) -> None:
    """Save what somebody decides about a fact of an extraction."""
    fact = file.fact(find_found(file, given.fact))
    save(bench, who, given.fact, given, lambda decision, reason: fact.decided(decision, who.name, now(), reason))
