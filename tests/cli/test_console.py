import re
from pathlib import Path

from script import ROOT


def test_every_command_that_is_printed_with_a_path_is_quoted_for_the_shell() -> None:
    unquoted = re.compile(r"""f["'][^"']*\bsayso [a-z]+ [^"'`]*\{""")
    for path in Path(ROOT / "src").rglob("*.py"):
        found = unquoted.findall(path.read_text())
        assert found == [], f"{path}: put it together with `as_command`"
