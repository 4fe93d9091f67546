import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from sayso.errors import BadInputError
from sayso.readers.base import BadLine
from sayso.readers.mark import read_mark_lines
from sayso.readers.tables import read_decisions, read_entity_types, read_inventory, read_triples

FACT = {"head": "m.1", "tail": "m\n2", "relation": "born"}
TABLES: dict[Callable[[Path], Iterable[object]], str] = {
    read_entity_types: "m\x1b1\t/person",
    read_inventory: '{"name": "bo\\trn"}',
    read_triples: "m.1\tborn\tm\x9b2",
    read_decisions: json.dumps({**FACT, "decision": "accepted"}),
}


@pytest.mark.parametrize("read", TABLES)
def test_a_table_with_a_control_character_in_a_name_is_refused_with_its_line(
    tmp_path: Path, read: Callable[[Path], Iterable[object]]
) -> None:
    (tmp_path / "table").write_text(f"{TABLES[read]}\n")
    with pytest.raises(BadInputError, match=r"table:1: the id or name .* contains the control character"):
        list(read(tmp_path / "table"))


def test_a_mark_with_a_control_character_in_an_id_is_a_bad_line(tmp_path: Path) -> None:
    (tmp_path / "marks").write_text(json.dumps({**FACT, "sentence": "a\tb", "label": "rationale"}) + "\n")
    ((number, item),) = read_mark_lines(tmp_path / "marks")
    assert number == 1
    assert isinstance(item, BadLine)
