"""Print code statistics: files, lines, type names defined twice, and steps in ARCHITECTURE.md.

    python docs/house.py

A type name is a class or alias at the top of a module. A hop is a step of a numbered list under "Three data flows".
"""

import ast
import io
import re
import statistics
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "sayso"
LONG, SHORT = 300, 40


def main() -> None:
    """Print the counts."""
    files = sorted(SOURCE.rglob("*.py"))
    lines = {path: len(path.read_text("utf-8").splitlines()) for path in files}
    print(f"files               {len(files)}")
    print(f"… under {SHORT} lines    {sum(num < SHORT for num in lines.values())}")
    print(f"… above {LONG} lines   {sum(num > LONG for num in lines.values())}")
    print(f"lines               {sum(lines.values()):,}")
    print(f"… of code           {sum(map(num_code_lines, files)):,}")
    print(f"median file         {statistics.median(lines.values()):.0f} lines")
    repeated = {name: num for name, num in type_names(files).items() if num > 1}
    print(
        f"repeated type names {len(repeated)}: {', '.join(f'{name} {num}' for name, num in sorted(repeated.items()))}"
    )
    for way, hops in ways().items():
        print(f"hops                {len(hops)}: {way}")


def num_code_lines(path: Path) -> int:
    """Return the lines that are neither blank, nor comment, nor docstring."""
    text = path.read_text("utf-8")
    kinds = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    code = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in kinds
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(code - docstring_lines(ast.parse(text)))


def docstring_lines(tree: ast.Module) -> set[int]:
    """Return the lines of all standalone strings: docstrings, including those of attributes."""
    alone = (node for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    return {line for node in alone for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def type_names(files: list[Path]) -> Counter[str]:
    """Return how many modules define each public class or alias."""
    names: Counter[str] = Counter()
    for path in files:
        names.update(set(types_of(ast.parse(path.read_text("utf-8")))))
    return names


def types_of(tree: ast.Module) -> list[str]:
    """Return the names of a module's classes and aliases: mixed-case names."""
    names = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    for node in tree.body:
        if isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [name for name in names if re.fullmatch(r"[A-Z]\w*[a-z]\w*", name)]


def ways() -> dict[str, list[str]]:
    """Return the steps of each data flow in ARCHITECTURE.md."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    section = re.search(r"^## Three data flows\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    found: dict[str, list[str]] = {}
    for part in re.split(r"^### ", section[1] if section else "", flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        found[title] = re.findall(r"^\d+\. (.*)$", body, re.MULTILINE)
    return found


if __name__ == "__main__":
    main()
