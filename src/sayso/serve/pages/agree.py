"""The pages of agreement: figures, the list of disputed facts, and one such fact to settle."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from sayso.annotate.agreement import report, submitted_marks
from sayso.annotate.comments import remarks
from sayso.annotate.disagreement import closed_facts, disagreements
from sayso.annotate.forms import FORMS
from sayso.annotate.queue import read_settings
from sayso.serve.bag_fact import bag_fact_of, find_bag_fact, stretches
from sayso.serve.deps import Bench, Who
from sayso.serve.errors import not_found
from sayso.serve.predictions.deps import Asked
from sayso.serve.render import page

router = APIRouter(include_in_schema=False)


@router.get("/agree")
def home(request: Request, bench: Bench, _: Who) -> Response:
    """Show how far people agree, and on which facts they do not."""
    with bench.database.reading() as connection:
        settings = read_settings(connection)
        figures = report(submitted_marks(connection))
        found = disagreements(connection, settings.annotators_per_fact)
        said = remarks(connection, frozenset(closed_facts(connection, settings.annotators_per_fact)))
    disputed = [
        {"shown": shown, "num": len(each), "num_settled": sum(bool(one.settled) for one in each)}
        for fact, each in found.items()
        if (shown := bag_fact_of(bench, fact))
    ]
    disputed.sort(key=lambda each: each["num_settled"] == each["num"])
    return page(
        request,
        "agree/home.html",
        section="agree",
        figures=figures,
        disputed=disputed,
        remarks=[(shown, each) for each in said if (shown := bag_fact_of(bench, each.fact))],
        forms=FORMS,
    )


@router.get("/agree/fact")
def fact(request: Request, bench: Bench, _: Who, asked: Asked) -> Response:
    """Show the sentences of one fact that people have marked differently, to settle them."""
    shown = find_bag_fact(bench, *asked)
    with bench.database.reading() as connection:
        found = disagreements(connection, read_settings(connection).annotators_per_fact)
        said = remarks(connection, {shown.fact})
    if shown.fact not in found:
        raise not_found("There is nothing to settle about this fact.")
    places = {text: place for place, text in enumerate(shown.texts)}
    sentences = [
        {"place": places[each.sentence], "disagreement": each, "stretches": stretches(sentence)}
        for each in found[shown.fact]
        if each.sentence in places
        for sentence in (shown.bag.sentences[places[each.sentence]],)
    ]
    addresses = [other.address for fact in found if (other := bag_fact_of(bench, fact))]
    here = addresses.index(shown.address)
    return page(
        request,
        "agree/fact.html",
        section="agree",
        shown=shown,
        sentences=sentences,
        remarks=said,
        previous=addresses[here - 1] if here > 0 else "",
        following=addresses[here + 1] if here + 1 < len(addresses) else "",
        number=here + 1,
        num_facts=len(addresses),
    )
