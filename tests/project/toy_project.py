"""A small world as files, and a project of it with a model that trains in seconds."""

import json
from pathlib import Path

from sayso.documents.settings import BuildInputs
from sayso.project import PROJECT, Project, new_project, open_project

NUM = 40
SMALL = ["train.max_epochs=1", "model.encoder.cnn.num_filters=4", "model.encoder.cnn.output_width=6"]


def article(number: int) -> dict[str, str]:
    """Return an article that says where a person was born and that a town is a capital."""
    text = f"Ada Holt{number} was born in Port Town{number}. Port Town{number} is the capital of North Land{number}."
    return {"id": f"a{number}", "text": f"{text} Ada Holt{number} flew over North Land{number}."}


def write_world(folder: Path, numbers: range = range(NUM)) -> BuildInputs:
    """Write documents about these numbers, and tables about all."""
    folder.mkdir(exist_ok=True)
    (folder / "articles.jsonl").write_text("".join(json.dumps(article(number)) + "\n" for number in numbers))
    facts = [(f"p{n}", "born", f"t{n}") for n in range(NUM)] + [(f"l{n}", "capital", f"t{n}") for n in range(NUM)]
    (folder / "kb.tsv").write_text("".join("\t".join(fact) + "\n" for fact in facts[::2]))
    names = {"p": "Ada Holt", "t": "Port Town", "l": "North Land"}
    types = {"p": "/person", "t": "/city", "l": "/country"}
    rows = [(kind, number) for kind in names for number in range(NUM)]
    (folder / "names.tsv").write_text("".join(f"{kind}{number}\t{names[kind]}{number}\n" for kind, number in rows))
    (folder / "types.tsv").write_text("".join(f"{kind}{number}\t{types[kind]}\n" for kind, number in rows))
    tables = {name: folder / f"{name}.tsv" for name in ("kb", "names", "types")}
    return BuildInputs(documents=folder / "articles.jsonl", **tables)


def change(folder: Path, *changes: tuple[str, str]) -> Project:
    """Replace text in the project file, and open the project."""
    path = folder / PROJECT
    text = path.read_text()
    for before, after in changes:
        assert before in text, before
        text = text.replace(before, after)
    path.write_text(text)
    return open_project(folder)


def make_project(folder: Path, inputs: BuildInputs) -> Project:
    """Return a new project with a small model, two folds and a low precision."""
    new_project(folder, inputs)
    return change(
        folder,
        ("changes = []", f"changes = {json.dumps(SMALL)}"),
        ("folds = 5", "folds = 2"),
        ("precision = 0.8", "precision = 0.1"),
        ("[train]", "[vectors]\nwidth = 4\nepochs = 1\n\n[train]"),
    )
