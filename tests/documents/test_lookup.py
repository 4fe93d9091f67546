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


def test_documents_in_gzip_are_found_whatever_the_name_of_the_file(tmp_path: Path) -> None:
    for name in ("docs.jsonl.gz", "docs.jsonl"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(lines(TEXTS).encode()))
        documents = DocumentLookup(path)
        assert [documents.text(each) for each in TEXTS] == [*TEXTS.values()]
        documents.close()
        with pytest.raises(ValueError, match="closed"):
            documents.text("one")


def test_a_file_that_is_replaced_is_still_read_as_it_was_opened(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text(lines(TEXTS))
    documents = DocumentLookup(path)
    assert documents.text("one") == TEXTS["one"]
    path.unlink()
    path.write_text(lines({"other": "Another."}))
    assert documents.text("2") == TEXTS["2"]


def test_damaged_gzip_costs_the_context_and_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "docs.jsonl.gz"
    path.write_bytes(gzip.compress(lines(TEXTS).encode())[:-12])
    documents = DocumentLookup(path)
    assert [documents.text(each) for each in TEXTS] == [None, None]
    (told,) = caplog.messages
    assert told.startswith(f"{path}: the gzip file is truncated or damaged")


def test_documents_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no such file"):
        DocumentLookup(tmp_path / "nowhere")


def test_the_context_is_two_sentences_on_each_side_without_markup() -> None:
    text = "<p>One &amp; more. Two came.\n\nThree left.</p><p>Four is <b>here</b>. Five. Six sang. Seven.</p>"
    start = text.index("Four")
    before, after = context_of(text, start, text.index(". Five") + 1)
    assert (before, after) == ("Two came. Three left.", "Five. Six sang.")
    assert context_of("Only this.", 0, 10) == ("", "")
