import gzip
import json
from pathlib import Path

import pytest

from sayso.documents.lookup import DocumentLookup, context_of
from sayso.errors import BadInputError

TEXTS = {"one": "Ana sings.\nIn Rome.", "2": "Zoë left. So did Bo."}


def lines(texts: dict[str, str]) -> str:
    return "".join(json.dumps({"id": key, "text": text}, ensure_ascii=False) + "\n" for key, text in texts.items())


def test_documents_are_found_by_id_in_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text('not json\n{"text": "no id"}\n' + lines(TEXTS) + '{"id": 7, "text": "seven"}\n', encoding="utf-8")
    documents = DocumentLookup(path)
    assert [documents.text(name) for name in (*TEXTS, "7")] == [*TEXTS.values(), "seven"]
    assert documents.text("nobody") is None


def test_documents_are_found_by_path_in_a_folder_and_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("hidden")
    folder = tmp_path / "docs"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "one.txt").write_text(TEXTS["one"])
    (folder / "two.html.gz").write_bytes(gzip.compress(TEXTS["2"].encode()))
    documents = DocumentLookup(folder)
    assert documents.text("a/one.txt") == TEXTS["one"]
    assert documents.text("two.html.gz") == TEXTS["2"]
    assert documents.text("../secret.txt") is None


def test_a_single_text_is_a_document(tmp_path: Path) -> None:
    path = tmp_path / "one.txt"
    path.write_text(TEXTS["one"])
    assert DocumentLookup(path).text("one.txt") == TEXTS["one"]


def test_what_cannot_be_looked_up_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no such file"):
        DocumentLookup(tmp_path / "nowhere")
    path = tmp_path / "docs.jsonl.gz"
    path.write_bytes(gzip.compress(lines(TEXTS).encode()))
    with pytest.raises(BadInputError, match="decompress it first"):
        DocumentLookup(path)


def test_the_context_is_two_sentences_on_each_side_without_markup() -> None:
    text = "<p>One &amp; more. Two came.\n\nThree left.</p><p>Four is <b>here</b>. Five. Six sang. Seven.</p>"
    start = text.index("Four")
    before, after = context_of(text, start, text.index(". Five") + 1)
    assert (before, after) == ("Two came. Three left.", "Five. Six sang.")
    assert context_of("Only this.", 0, 10) == ("", "")
