"""What a store has for a reproduction, in lines: which data it is, what it lacks, what it was made from."""

from sayso.reproduce.assess import mark_sets
from sayso.store.leakage import CLEAN_FBNYT_SENTENCES, LEAKING_FBNYT_SENTENCES
from sayso.store.store import Store

_RELEASES = {
    CLEAN_FBNYT_SENTENCES: "the FB-NYT release that the paper's Table 1 counts 90 % of",
    LEAKING_FBNYT_SENTENCES: "the FB-NYT release whose training file holds test pairs",
}
"""What a training file is known by."""


def survey_store(store: Store) -> list[str]:
    """Return a line for each thing to know before hours of training."""
    return [*_about_files(store), *_about_vectors(store), *_about_types(store), *_about_marks(store)]


def _about_files(store: Store) -> list[str]:
    inputs = store.manifest["inputs"]
    sizes = [int(inputs.get(name, {}).get("sentences", 0)) for name in ("train", "test")]
    known = _RELEASES.get(sizes[0], "not the paper's release by its counts")
    lines = [f"files: {sizes[0]:,} training and {sizes[1]:,} test sentences: {known}"]
    pairs = store.manifest.get("leakage", {}).get("test_pairs_in_train", 0)
    if num_leaking_pairs(store):
        lines.append(
            f"leakage: {pairs:,} test pairs stand in training: figures will be TOO GOOD; prepare with --leak drop"
        )
    elif pairs:
        lines.append(f"leakage: {pairs:,} test pairs stood in the training file and were left out")
    return lines


def num_leaking_pairs(store: Store) -> int:
    """Return how many test pairs stand in the training part itself, because that was allowed."""
    pairs = int(store.manifest.get("leakage", {}).get("test_pairs_in_train", 0))
    return pairs if store.manifest["settings"]["leak"] == "allow" else 0


def _about_vectors(store: Store) -> list[str]:
    words, entities = store.manifest["words"], store.manifest.get("entity_vectors", {})
    width = words["vector_width"]
    lines = [f"word vectors: width {width}" if width else "word vectors: none, random ones stand in for them"]
    halves = [f"{half} {entities.get(f'{half}_width', 0)}" for half in ("name", "graph")]
    return [*lines, f"entity vectors: width {' + '.join(halves)}"]


def _about_types(store: Store) -> list[str]:
    direct = store.manifest["parts"].get("direct", {}).get("sentences", 0)
    return [f"entity types: {len(store.types) - 1:,}", f"directly supervised sentences: {direct:,}"]


def _about_marks(store: Store) -> list[str]:
    sets = mark_sets(store)
    return [
        f"marks by {name}: {len(marks.by_sentence):,} on facts of the test part" for name, marks in sets.items()
    ] or ["marks: none, so no τ (prepare with --marks)"]
