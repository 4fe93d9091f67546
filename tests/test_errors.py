import ast
import pickle
import re
from pathlib import Path

import pytest

from sayso.errors import BadInputError, UserError, option
from script import ROOT

SOURCE = ROOT / "src" / "sayso"
# What only commands use: the command line itself, the workbench and its database, and the reproduction's report.
OF_COMMANDS = ("cli", "serve", "annotate", "reproduce", "configs")
LIBRARY = [path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] not in OF_COMMANDS]


def test_a_message_names_the_argument_in_python_and_the_option_on_the_command_line() -> None:
    error = BadInputError(f"x.jsonl: 3 bad lines: allow more with {option('max_bad_share', '--max-bad')}")
    assert str(error) == "x.jsonl: 3 bad lines: allow more with max_bad_share"
    assert error.on_command_line() == "x.jsonl: 3 bad lines: allow more with --max-bad"
    for again in (BadInputError(error.both), pickle.loads(pickle.dumps(error))):
        assert again.on_command_line() == error.on_command_line()
    assert UserError(f"{option('entity_vectors')}: none").on_command_line() == "--entity-vectors: none"


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: str(path.relative_to(SOURCE)))
def test_errors_of_the_library_do_not_speak_of_options(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Raise) and node.exc:
            named = {id(part) for call in ast.walk(node.exc) if _is_option(call) for part in ast.walk(call)}
            texts = [part for part in ast.walk(node.exc) if isinstance(part, ast.Constant) and id(part) not in named]
            for text in texts:
                # Options of a whole command that is named may stay.
                bare = re.sub(r"`[^`]*`", "", str(text.value))
                assert not re.search(r"(^|[ (])--[a-z]", bare), f"line {node.lineno}: {bare!r}: use `option`"


def _is_option(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "option"
