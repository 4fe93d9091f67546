"""`sayso explain`: explain the predictions for one pair of entities."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.console import note, print_json, say, say_next
from sayso.cli.options import AsJson, Methods, NoVerify, Run, Threshold
from sayso.errors import UserError
from sayso.io.atomic import refuse_unwritable_path, write_text
from sayso.readers.read import Tally, read_sentences
from sayso.readers.tables import read_entity_types
from sayso.records import Bag, Mention, Sentence, sentence_key

if TYPE_CHECKING:
    from sayso.explain.bag import BagToExplain
    from sayso.model.checkpoint import ModelParts


def explain(
    run: Run,
    head: Annotated[str, typer.Option(help="The head entity, by id or by name.")],
    tail: Annotated[str, typer.Option(help="The tail entity, by id or by name.")],
    data: Annotated[Path | None, typer.Option(help="The store that the run was trained on.")] = None,
    file: Annotated[
        Path | None, typer.Option(help="Sentences instead of a store: a file or a built corpus; - is stdin.")
    ] = None,
    relation: Annotated[list[str] | None, typer.Option(help="A relation to explain; may be repeated.")] = None,
    part: Annotated[str, typer.Option(help="Part of the store; by default the first that has the pair.")] = "",
    types: Annotated[
        Path | None, typer.Option(help="Types of entities in --file that the model does not know.")
    ] = None,
    methods: Methods = None,
    threshold: Threshold = 0.5,
    html: Annotated[Path | None, typer.Option(help="HTML page to write.")] = None,
    as_json: AsJson = False,
    _no_verify: NoVerify = False,
) -> None:
    """Explain one pair: ranked sentences, the scores of every mechanism, important words, and the support.

    Without --relation, explains the predicted relations, or the most probable one if none is predicted.

    Example: `sayso explain runs/demo --data demo/store --head namibia --tail windhoek`
    """
    from sayso.explain.bag import explain_bag
    from sayso.facts.html import explanation_page

    _refuse_mixed(data, file, part, types)
    if html is not None:
        refuse_unwritable_path(html)
    if data is not None:
        model, bag = _from_store(run, data, part, head, tail)
    else:
        assert file is not None
        model, bag = _from_file(run, file, types, head, tail)
    found = explain_bag(model, bag, relation or [], methods, threshold)
    if html is not None:
        write_text(html, explanation_page([each.to_dict() for each in found]))
        say_next(str(html), hint="open it in a browser")
    if as_json:
        print_json([each.to_dict() for each in found])
    elif html is None:
        say("\n\n".join(str(each) for each in found))


def _refuse_mixed(data: Path | None, file: Path | None, part: str, types: Path | None) -> None:
    """Raise `UserError` for options that exclude each other."""
    if (data is None) == (file is None):
        raise UserError("use either a store (--data) or a file of sentences (--file)")
    if part and data is None:
        raise UserError("--part requires --data: with --file, every sentence is used")
    if types is not None and file is None:
        raise UserError("--types requires --file: a store has its own types")


def _from_store(run: Path, data: Path, part: str, head: str, tail: str) -> "tuple[ModelParts, BagToExplain]":
    from sayso.explain.bag import bag_of_run
    from sayso.explain.trained_run import open_runs, with_pair
    from sayso.store.marks import marks_of_store
    from sayso.store.store import Store

    store = Store(data)
    (opened,) = open_runs([run], store, part or store.default_part)
    if not part:
        opened = with_pair(opened, head, tail)
    return opened.model, bag_of_run(opened, opened.find_bag(head, tail), marks_of_store(store, opened.part_name))


def _from_file(run: Path, file: Path, types: Path | None, head: str, tail: str) -> "tuple[ModelParts, BagToExplain]":
    from sayso.documents.corpus import types_of
    from sayso.explain.bag import own_bag
    from sayso.library import load

    named = types_of(file, types)
    model = load(run)
    typed = read_entity_types(named, model.relations) if named else {}
    return model.parts, own_bag(model.parts, Bag.from_sentences(_sentences(file, head, tail)), typed)


def _sentences(file: Path, head: str, tail: str) -> list[Sentence]:
    """Return the distinct sentences of a file that name the pair, by id or by name."""

    def is_meant(mention: Mention, wanted: str) -> bool:
        return mention.entity_id == wanted or sentence_key(mention.name).lower() == sentence_key(wanted).lower()

    tally = Tally(file)
    found: dict[Sentence, Sentence] = {}
    for sentence in read_sentences(file, tally):
        if is_meant(sentence.head, head) and is_meant(sentence.tail, tail):
            unlabelled = sentence._replace(relations=(), expresses=None)
            found.setdefault(unlabelled._replace(source=None), unlabelled)
    if tally.num_bad:
        note(f"{tally.num_bad:,} bad lines left out (first: {tally.shown[0]})")
    if not found:
        raise UserError(f"{file}: no sentence has the head {head!r} and the tail {tail!r}")
    pairs = list(dict.fromkeys(sentence.pair for sentence in found.values()))
    if len(pairs) > 1:
        ids = "; ".join(" ".join(each) for each in pairs[:5])
        raise UserError(f"{file}: {len(pairs)} pairs have these names: use ids, such as {ids}")
    return list(found.values())
