"""Every "next:" line that a command prints works when pasted into a shell in the user's folder, spaces included."""

import json
import shlex
from pathlib import Path

import pytest
import typer

from command import sayso
from project.toy_project import write_world
from sayso.cli import app

GROUP = typer.main.get_command(app)
SMALL = ("--set", "train.max_epochs=1", "--set", "model.encoder.cnn.num_filters=4")
MORE = {"vectors": ("--width", 4, "--epochs", 1, "--seed", 1), "train": SMALL, "evaluate": ("--method", "attention")}
"""Options that make a command faster."""


def following(result: object) -> list[list[str]]:
    """Return the words of the commands that a command says to run next."""
    assert result.returncode == 0, result.stderr  # type: ignore[attr-defined]
    lines = result.stderr.splitlines()  # type: ignore[attr-defined]
    commands = [shlex.split(line.removeprefix("next: ")) for line in lines if line.startswith("next: ")]
    made: list[Path] = []
    for words in commands:
        assert words[0] in ("sayso", "less"), words
        placeholders = [word for word in words if word.isupper()]
        assert not placeholders, f"{words}: a placeholder cannot be pasted"
        if words[0] == "sayso":
            check_words(words[1:], made)
    return [words[1:] for words in commands]


def check_words(words: list[str], made: list[Path]) -> None:
    """Assert that the command takes these words, and that what it reads is there, or made by the commands before it."""
    command = GROUP.commands[words[0]]
    rest = words[1:]
    if hasattr(command, "commands"):
        command, rest = command.commands[rest[0]], rest[1:]
    context = command.make_context(words[0], list(rest))
    for name, value in context.params.items():
        for path in value if isinstance(value, list | tuple) else [value]:
            if isinstance(path, Path) and name not in ("out", "db"):
                assert path in made or path.exists(), f"{words}: there is no {path}"
    made += [context.params["out"]] if "out" in context.params else []


def run(*words: object) -> list[list[str]]:
    """Run a command and return the ones that it names next."""
    return following(sayso(*words, *MORE.get(str(words[0]), ())))


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder, which is the current one."""
    (tmp_path / "my work").mkdir()
    monkeypatch.chdir(tmp_path / "my work")
    return tmp_path / "my work"


@pytest.mark.slow
def test_the_commands_lead_from_documents_to_facts_and_back(user: Path) -> None:
    write_world(user / "my files")
    tables = [word for name in ("kb", "names", "types") for word in (f"--{name}", f"my files/{name}.tsv")]
    check, vectors, prepare = run("build", "--documents", "my files/articles.jsonl", *tables, "--out", "my corpus")
    run(*check)
    (again,) = run(*vectors)
    assert again[:3] == prepare[:3]
    (train,) = run(*prepare)
    (evaluate,) = run(*train)
    run(*evaluate, "--resamples", 0)
    (train_folds,) = run("prepare", "--train", "my corpus", "--folds", 2, "--out", "my store")
    (extract,) = run(*train_folds[:-1], "my run")
    assert extract[:3] == ["extract", "my run", "my corpus"]
    (serve,) = run("extract", "my run", "my corpus", "--out", "my facts", "--threshold", 0)
    assert serve == ["serve", "--data", "my store", "--facts", "my facts"]
    (user / "my truth.tsv").write_text("p1\tborn\tt1\n")
    assert run("score", "my facts", "--truth", "my truth.tsv") == [serve]
    facts = map(json.loads, (user / "my facts" / "facts.jsonl").read_text().splitlines())
    fact = next(each for each in facts if each["status"] == "new")
    decided = {key: fact[key] for key in ("head", "relation", "tail")} | {"decision": "accepted"}
    (user / "decided.jsonl").write_text(json.dumps(decided))
    (prepare,) = run("score", "my facts", "--decisions", "decided.jsonl")
    assert prepare[:3] == ["prepare", "--train", "my corpus"]
    run(*prepare)
    (export,) = run("decisions", "import", "decided.jsonl", "--facts", "my facts", "--db", "my store.annotations.db")
    run(*export)
    run("predict", "my run", "my corpus", "--out", "predicted facts.jsonl")
    marks = {"sentence": fact["evidence"][0]["exact"], "label": "unsure", "annotator": "Ada"}
    (user / "marks.jsonl").write_text(json.dumps(decided | marks))
    (serve,) = run("annotations", "import", "marks.jsonl", "--db", "my store.annotations.db")
    assert serve == ["serve", "--data", "my store", "--db", "my store.annotations.db"]


@pytest.mark.slow
def test_the_commands_after_inventing_and_of_a_project_can_be_pasted(user: Path) -> None:
    (check,) = run("invent", "my corpus", "--size", "toy")
    run(*check)
    (build,) = run("invent", "my news", "--raw", "--size", "toy")
    assert len(run(*build)) == 3
    write_world(user / "my files")
    (started,) = run("new", "my project", "--documents", "my files/articles.jsonl", "--kb", "my files/kb.tsv")
    assert started == ["run", "my project"]


def test_a_name_that_is_taken_is_not_proposed_again(user: Path) -> None:
    (user / "store").mkdir()
    (user / "words.bin").touch()
    write_world(user / "my files")
    words = ("--documents", "my files/articles.jsonl", "--kb", "my files/kb.tsv", "--names", "my files/names.tsv")
    _, vectors, prepare = run("build", *words, "--out", "corpus")
    assert vectors[-1] == "words-2.bin"
    assert prepare[-1] == "store-2"
