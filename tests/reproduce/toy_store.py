"""A small store with everything that a reproduction can use, or without some of it."""

from pathlib import Path

from sayso.store.inputs import Inputs, PrepareSettings
from sayso.store.prepare import prepare
from toy_evaluation import make_marked_store
from toy_run import MAX_TOKENS

SMALL = (
    "model.encoder.cnn.num_filters=8",
    "model.encoder.cnn.output_width=16",
    "loss.direct_sentences=4",
    "train.learning_rate=0.01",
    "train.batch_bags=8",
    "train.patience=100",
)
"""Changes with which every variant learns the capitals and birthplaces of the toy corpus in a second."""


def make_store(folder: Path, *left_out: str) -> Path:
    """Return a store of the toy corpus; `left_out` names inputs: test, types, direct, vectors, entity_vectors, …"""
    make_marked_store(folder)
    (folder / "direct.txt").write_text("".join(_direct_block(number) for number in range(12)))
    inputs = {
        "test": folder / "test.txt",
        "types": folder / "types.json",
        "direct": (folder / "direct.txt",),
        "vectors": folder / "words.bin",
        "entity_vectors": folder / "entities.bin",
        "marks": (folder / "marks.jsonl",),
    }
    kept = {name: value for name, value in inputs.items() if name not in left_out}
    settings = PrepareSettings(validation_share=0.3, max_tokens=MAX_TOKENS)
    prepare(Inputs(train=folder / "train.txt", **kept), settings, folder / "all", lambda *_: None)
    return folder / "all"


def _direct_block(number: int) -> str:
    """Return a sentence in KBP37's format, alternately with and without a relation."""
    person = f"<e1> ada_{number} </e1>"
    if number % 2:
        return f'{number}\t"{person} sailed past <e2> north_land{number} </e2> ."\nno_relation\n\n\n'
    return f'{number}\t"{person} was born in <e2> port_town{number} </e2> in may ."\nper:city_of_birth(e1,e2)\n\n\n'
