"""A decision on a fact of an extraction, with the sentences that its file holds."""

from sayso.annotate.people import Annotator, now
from sayso.serve.curate.decide import save
from sayso.serve.found.answers import FoundDecision
from sayso.serve.found.deps import find_found
from sayso.serve.found.file import FoundFile
from sayso.serve.state import Workbench


def save_found_decision(bench: Workbench, who: Annotator, file: FoundFile, given: FoundDecision) -> None:
    """Save what somebody decides about a fact of an extraction."""
    fact = file.fact(find_found(file, given.fact))
    save(bench, who, given.fact, given, lambda decision, reason: fact.decided(decision, who.name, now(), reason))
