"""Lines read in bulk are the lines read one by one."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readers.strategies import sentences
from sayso.errors import BadInputError
from sayso.readers.jsonl import write, write_compact
from sayso.readers.read import Tally, read_sentences
from sayso.records import Sentence
from sayso.store import parallel
from sayso.store.block import SentenceBlock, parse_block
from sayso.store.collect import BagBuilder
from sayso.store.columns import text_array
from sayso.store.parallel import read_blocks
from sayso.store.vocabulary import Vocabulary

RECORD = {
    "tokens": ["ana", "was", "born", "in", "rome"],
    "head": {"id": "m.1", "name": "ana", "spans": [[0, 1]]},
    "tail": {"id": "m.2", "name": "rome", "spans": [[4, 5]]},
    "relations": ["/born", "NA", "/lived"],
    "document": {"id": "d7", "start": 3, "stop": 30, "glued": [2, 4]},
    "expresses": 1,
}


def changed(**changes: object) -> str:
    return json.dumps({**RECORD, **changes}, ensure_ascii=False)


def without(key: str) -> str:
    return json.dumps({name: value for name, value in RECORD.items() if name != key})


def block_of(*lines: str) -> SentenceBlock | None:
    return parse_block("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"))


def columns_of(found: list[Sentence | SentenceBlock], max_tokens: int = 8) -> tuple[Any, ...]:
    """Return everything that is collected from sentences and blocks."""
    vocabulary = Vocabulary()
    builder = BagBuilder(vocabulary, max_tokens)
    builder.add_all(found)
    table, *others = builder.lines()
    rows = {
        name: [part.tolist() for part in value] if isinstance(value, tuple) else value.tolist()
        for name, value in vars(table).items()
    }
    rows["expresses_N"] = [value if value == value else None for value in rows["expresses_N"]]
    numbers = [
        list(each.items())
        for each in (vocabulary.words, vocabulary.entities, vocabulary.relations, vocabulary.documents)
    ]
    return rows, others, numbers, sorted(vocabulary.entity_name.items())


@settings(max_examples=60)
@given(found=st.lists(sentences(), min_size=1, max_size=6))
def test_a_block_has_the_columns_of_its_sentences(found: list[Sentence]) -> None:
    block = block_of(*map(write, found))
    assert block
    assert len(block) == len(found)
    assert list(block.sentences()) == found
    assert list(block.compact_lines()) == [(*sentence.pair, write_compact(sentence)) for sentence in found]
    assert columns_of([block]) == columns_of(list(found))


def test_values_may_be_missing_where_a_line_may_lack_them() -> None:
    lines = [changed(), without("relations"), without("document"), without("expresses"), changed(relations=[])]
    block = block_of(*lines)
    assert block
    assert columns_of([block]) == columns_of(list(block.sentences()))


@pytest.mark.parametrize(
    "line",
    [
        *map(without, ("tokens", "head", "tail")),
        *(changed(**{key: None}) for key in RECORD),
        *(
            changed(tokens=tokens)
            for tokens in ([], ["a b", "c", "d", "e", "f"], ["", "b", "c", "d", "e"], [1, 2], "x")
        ),
        changed(tokens=["x"] * 5_001),
        changed(tokens=["a\u2003", "b", "c", "d", "e"]),
        *(
            changed(head=RECORD["head"] | {"spans": spans})
            for spans in (
                [],
                [[0, 1, 2]],
                [[0]],
                [[1, 1]],
                [[-1, 1]],
                [[4, 6]],
                [[2, 3], [1, 2]],
                [[0, 2], [1, 3]],
                [[4, 5]],
                [[0, 1.5]],
                [[0, 1], None],
                [[0, "1"]],
                [[True, 1]],
                7,
            )
        ),
        *(changed(tail={"id": "m.2", "name": "rome", "spans": spans}) for spans in ([[0, 1]], [[0, 2]])),
        changed(head={"id": "m.1", "name": "ana"}),
        changed(head={"name": "ana", "spans": [[0, 1]]}),
        changed(head={"id": "m.1", "spans": [[0, 1]]}),
        *(
            changed(head={"id": ident, "name": name, "spans": [[0, 1]]})
            for ident, name in (
                ("", "ana"),
                (" ", "ana"),
                (7, "ana"),
                ("m\t1", "ana"),
                ("m.1", "a\u0085na"),
                ("m.1", 3),
            )
        ),
        *(changed(relations=names) for names in ([""], ["a\tb"], [1], "born")),
        *(
            changed(document={"id": "d", "start": 3, "stop": 30} | more)
            for more in (
                {"id": ""},
                {"id": "a\u2028b"},
                {"start": -1},
                {"stop": 2},
                {"stop": 2**63},
                {"start": "3"},
                {"glued": [0]},
                {"glued": [5]},
                {"glued": [2, 2]},
                {"curly": [3, 1]},
                {"curly": [1.5]},
                {"curly": 1},
            )
        ),
        *(changed(expresses=value) for value in (1.5, -1, "1", True)),
        changed()[:-1],
        f"{changed()} {changed()}",
        f"[{changed()}]",
        f" {changed()}",
        f"\ufeff{changed()}",
        changed().replace("was", "\ud800"),
        changed().replace("was", "\\ud800"),
        changed().replace('"expresses"', '"expresses": 0, "expresses"'),
        changed().replace(": 1}", ": NaN}"),
        "",
        "{}",
    ],
)
def test_an_unusual_line_is_left_to_the_reader(line: str) -> None:
    assert block_of(changed()) is not None
    assert block_of(changed(), line, changed()) is None


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with many ordinary lines, some bad ones, some unusual ones."""
    path = tmp_path / "lines.jsonl"
    lines = [changed(tokens=[f"w{n % 97}", "was", "born", "in", "rome"], expresses=n % 2) for n in range(3_000)]
    lines[700], lines[1_500], lines[2_200] = "", "{", changed(head={"id": "m.1", "name": "in"})
    lines[2_300] = changed(relations=["/unknown"])
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("relations", [None, ["/born", "/lived"]], ids=["any relation", "an inventory"])
def test_a_file_is_read_as_line_by_line(
    file: Path, monkeypatch: pytest.MonkeyPatch, relations: list[str] | None
) -> None:
    monkeypatch.setattr(parallel, "BLOCK_BYTES", 60_000)
    monkeypatch.setattr(parallel, "SMALL_BLOCK_BYTES", 15_000)
    expected, found = Tally(file), Tally(file)
    sentences = list(read_sentences(file, expected, relations))
    seen: list[int] = []
    items = list(read_blocks(file, found, relations, seen.append, num_threads=2))
    assert vars(found) == vars(expected)
    assert found.num_bad == 1 + (relations is not None)
    assert 10 < sum(isinstance(item, SentenceBlock) for item in items) < 60
    assert columns_of(items) == columns_of(sentences)
    assert seen == sorted(seen)
    assert seen[-1] == file.stat().st_size


def test_other_formats_and_gzip_are_read_line_by_line(file: Path, tmp_path: Path) -> None:
    import gzip

    packed = tmp_path / "lines.jsonl.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    items = list(read_blocks(packed, Tally(packed)))
    assert len(items) == 2_998
    assert all(isinstance(item, Sentence) for item in items)


def test_a_file_without_sentences_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "blank").write_text("\n \n")
    with pytest.raises(BadInputError, match="blank: contains no sentences"):
        list(read_blocks(tmp_path / "blank", Tally(tmp_path / "blank")))


def test_texts_are_an_array_whatever_their_characters() -> None:
    for texts in (["ana", "", "rome"], ["Zürich", "\0", "東京", "a b"], []):
        assert text_array(texts).to_pylist() == texts


def test_pandas_is_not_imported() -> None:
    program = (
        "import sys\nfrom sayso.store.block import parse_block\nfrom sayso.store.collect import BagBuilder\n"
        "from sayso.store.vocabulary import Vocabulary\n"
        "assert BagBuilder(Vocabulary()).add_all([parse_block(sys.argv[1].encode())]).lines().num_read == 1\n"
        "assert 'pandas' not in sys.modules, 'which takes half a second'"
    )
    subprocess.run([sys.executable, "-c", program, changed()], check=True)
