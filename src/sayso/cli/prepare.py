"""`sayso prepare`: turn files into a store of checked, leak-free, memory-mapped bags."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from sayso.cli.console import new_path, note, print_result, print_table, say_next, stages
from sayso.cli.options import AsJson, EngineOptions, with_settings
from sayso.errors import UserError, as_command
from sayso.store.inputs import Inputs, PrepareSettings


@with_settings
def prepare(
    inputs: Inputs,
    out: Annotated[Path, typer.Option(help="Folder for the store; must be empty or missing.")],
    settings: PrepareSettings,
    *,
    overwrite: Annotated[bool, typer.Option(help="Replace an existing store.")] = False,
    engine: EngineOptions,
    as_json: AsJson = False,
) -> None:
    """Make a store: bags split by pair, checked for leakage, with types and vectors.

    Example: `sayso prepare --train train.txt.gz --test test.txt.gz --relations relation2id.txt --types types.json
    --vectors vectors.bin --out stores/nyt`
    """
    from sayso.store.prepare import prepare as make_store

    if inputs.rest and not inputs.decisions and not settings.folds:
        raise UserError("--rest requires --decisions or --folds: it provides sentences of decided or unlabelled pairs")
    with engine.open() as opened, stages() as show:
        manifest = make_store(inputs, settings, out, show, overwrite, opened)
    print_result(as_json, manifest, lambda: print_store(manifest))
    config = "cnns_att_f_ld" if manifest["entities"]["num_types"] > 1 else "cnns_att"
    say_next(str(out), as_command("sayso", "train", config, "--data", out, "--out", new_path("run")))


def print_store(manifest: dict[str, Any]) -> None:
    """Print the counts of a manifest, and what the user should know about them."""
    keys = ("sentences", "bags", "positive_bags", "facts", "largest_bag")
    rows = [[part, *(counts[key] for key in keys)] for part, counts in manifest["parts"].items()]
    print_table(f"store {manifest['fingerprint']}", ["part", *(key.replace("_", " ") for key in keys)], rows)
    abouts = (
        _about_split,
        _about_words,
        _about_lines,
        _about_leakage,
        _about_inputs,
        _about_decisions,
        _about_marks,
    )
    for line in chain.from_iterable(about(manifest) for about in abouts):
        note(line)


def _about_folds(folds: dict[str, Any]) -> str:
    num_facts, num_rest = folds["num_facts"], folds.get("num_rest_pairs", 0)
    return (
        f"folds: {folds['num']}, with {min(num_facts):,} to {max(num_facts):,} facts each, and {num_rest:,} unlabelled"
        f" pairs from rest; no sentences are left out (leaving out those that a fold shares with training"
        f" would lose {folds['num_sentences_shared']:,} sentences per fold, and all sentences of"
        f" {folds['num_facts_only_in_shared']:,} facts)"
    )


def _about_split(manifest: dict[str, Any]) -> Iterator[str]:
    if "folds" in manifest:
        yield _about_folds(manifest["folds"])
        return
    split = manifest["split"]
    left_out, shared = split["num_train_sentences_left_out"], split["num_validation_sentences_shared"]
    if not shared:
        yield "split: training and validation share no sentences"
    elif manifest["settings"]["keep_shared_sentences"]:
        yield f"split: {shared:,} validation sentences are also in training, for other pairs (--keep-shared)"
    else:
        yield (
            f"split: {left_out:,} training sentences left out because validation has them, including all"
            f" sentences of {split['num_train_facts_left_out']:,} facts; --keep-shared keeps them"
            f" ({shared:,} validation sentences would then be seen in training)"
        )


def _about_words(manifest: dict[str, Any]) -> Iterator[str]:
    words, entities, vectors = manifest["words"], manifest["entities"], manifest["entity_vectors"]
    if words["vector_width"]:
        covered = words["own_tokens"] + words["parts_tokens"]
        share = covered / max(covered + words["none_tokens"], 1)
        yield (
            f"words: {words['num']:,}; {words['own_words']:,} have a vector, {words['parts_words']:,} the mean of their"
            f" parts, {words['none_words']:,} none ({share:.1%} of the training text covered)"
        )
    else:
        yield f"words: {words['num']:,}, no vectors given"
    yield (
        f"entities: {entities['num']:,}; {entities['num_types'] - 1:,} types,"
        f" {entities['num_without_type']:,} without a type (/other); {vectors['num_in_graph']:,} with a graph vector"
    )


def _about_lines(manifest: dict[str, Any]) -> Iterator[str]:
    for part, counts in manifest["read"].items():
        if num := counts["num_too_far_apart"]:
            yield f"{part}: {num:,} sentences left out because their mentions are too far apart"


def _about_leakage(manifest: dict[str, Any]) -> Iterator[str]:
    from sayso.store.leakage import ABOUT_LEAKING_FBNYT, LEAKING_FBNYT_SENTENCES

    if "leakage" not in manifest:
        return
    leakage, fate = manifest["leakage"], manifest["settings"]["leak"]
    dropped = f" left out of training ({leakage['train_sentences_of_test_pairs']:,} sentences);"
    yield (
        f"leakage: {leakage['test_pairs_in_train']:,} test pairs{dropped if fate == 'drop' else ','}"
        f" {leakage['reversed_test_pairs_in_train']:,} reversed test pairs and"
        f" {leakage['test_sentences_in_train']:,} test sentences are in training"
    )
    if num := leakage.get("direct_sentences_in_test"):
        is_kept = "kept (--leak allow)" if fate == "allow" else "left out"
        yield f"direct: {num:,} directly supervised sentences are in test; {is_kept}"
    if manifest["read"]["train"]["num_sentences_read"] == LEAKING_FBNYT_SENTENCES:
        yield f"train: {ABOUT_LEAKING_FBNYT}"


def _about_inputs(manifest: dict[str, Any]) -> Iterator[str]:
    relations = manifest["relations"]
    if missing := relations["num_without_training_bag"]:
        yield f"relations: {missing:,} of {relations['num']:,} have no training bag"
    for name, entry in manifest["inputs"].items():
        if num := entry.get("bad_lines"):
            yield f"{name}: {num:,} bad lines (first: {entry['first_bad_lines'][0]})"


def _about_decisions(manifest: dict[str, Any]) -> Iterator[str]:
    if "overruled" not in manifest:
        return
    overruled = manifest["overruled"]
    hint = "" if "rest" in manifest["inputs"] else " (--rest adds sentences of other pairs)"
    yield (
        f"decisions: {overruled['num_accepted']:,} facts accepted, {overruled['num_rejected']:,} rejected; labels"
        f" of {overruled['num_sentences_changed']:,} sentences changed; {overruled['num_pairs_without_sentence']:,}"
        f" pairs have no training sentence{hint}"
    )
    if num := overruled["num_facts_left_out_by_split"]:
        yield (
            f"decisions: {num:,} decided facts are in neither part: validation has their sentences for other pairs;"
            " --keep-shared keeps them"
        )


def _about_marks(manifest: dict[str, Any]) -> Iterator[str]:
    marks = manifest["marks"]
    if marks["num_matched"] or marks["num_unmatched"]:
        num = {part: f"{marks['num_by_part'].get(part, 0):,}" for part in ("train", "validation", "test")}
        yield (
            f"marks: {num['train']} on training sentences, for learning; {num['validation']} on validation and"
            f" {num['test']} on test sentences, for evaluation only; {marks['num_unmatched']:,} match no sentence"
        )
        yield from marks["first_unmatched"][:3]
