import gzip
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.documents.document import (
    Decoded,
    Document,
    GivenMention,
    LeftOut,
    decode,
    read_documents,
    size_of,
)
from sayso.documents.settings import BuildSettings
from sayso.errors import BadInputError
from sayso.readers.base import BadLineError


def read(path: Path, **settings: object) -> list[Document | LeftOut]:
    return list(read_documents(path, BuildSettings(**settings), lambda _: None))  # type: ignore[arg-type]


def reasons(path: Path, **settings: object) -> list[str]:
    return [item.reason for item in read(path, **settings) if isinstance(item, LeftOut)]


def test_a_folder_is_read_in_order_of_paths_whatever_it_holds(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two.txt").write_text("Two.")
    (tmp_path / "b.txt").write_text("Three.")
    (tmp_path / "a.HTML").write_text("<p>One.")
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b"Four."))
    (tmp_path / "notes.docx").write_text("no")
    (tmp_path / "._b.txt").write_text("what another system remembers about b.txt")
    heard: list[int] = []
    found = list(read_documents(tmp_path, BuildSettings(), heard.append))
    assert [(item.id, item.text) for item in found if isinstance(item, Document)] == [
        ("a.HTML", "<p>One."),
        ("b/two.txt", "Two."),
        ("b.txt", "Three."),
        ("c.txt.gz", "Four."),
    ]
    assert heard[-1] == size_of(tmp_path) > 0
    (passed_over,) = [item for item in found if isinstance(item, LeftOut)]
    assert passed_over == LeftOut(
        str(tmp_path / "notes.docx"), "does not end in .txt, .text, .html, .htm (or .gz)", is_fault=False
    )


def test_pdf_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7 ...")
    reason = "a PDF file: convert it to text first, for example with pdftotext"
    assert reasons(tmp_path / "a.pdf") == [reason]
    with pytest.raises(BadInputError, match=r"no documents; .*convert PDF files to text first"):
        read(tmp_path)
    (tmp_path / "b.txt").write_bytes(b"%PDF-1.7 ...")
    assert reasons(tmp_path) == [reason, reason]


def test_an_html_page_names_its_encoding(tmp_path: Path) -> None:
    page = '<html><head><meta charset="windows-1251"></head><body>Москва</body></html>'
    (tmp_path / "a.html").write_bytes(page.encode("windows-1251"))
    (tmp_path / "b.html").write_bytes(
        page.replace("windows-1251", "nonsense").replace("Москва", "Zürich").encode("cp1252")
    )
    first, second = (item for item in read(tmp_path) if isinstance(item, Document))
    assert first.text == page
    assert first.is_not_utf8
    assert "Zürich" in second.text


def test_a_file_that_is_gone_is_left_out_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to(tmp_path / "nowhere")
    (tmp_path / "b.txt").write_text("Ana.")
    assert size_of(tmp_path) == 4
    assert read(tmp_path) == [
        LeftOut(str(tmp_path / "a.txt"), "no such file or directory"),
        Document("b.txt", "Ana."),
    ]


def test_a_file_is_one_document_or_json_lines(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("Ana [sings].")
    assert read(tmp_path / "x.txt") == [Document("x.txt", "Ana [sings].")]
    (tmp_path / "x.jsonl").write_bytes(
        gzip.compress('\ufeff{"id": 7, "text": "Ana."}\n\n{"id": "b", "text": "Bo."}'.encode())
    )
    assert read(tmp_path / "x.jsonl") == [Document("7", "Ana."), Document("b", "Bo.")]


def test_a_file_that_claims_to_be_json_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('[{"id": "a", "text": "Ana."}]')
    assert reasons(tmp_path / "x.json") == ["the line is valid JSON but not an object {…}"]


def test_mentions_may_come_with_the_document(tmp_path: Path) -> None:
    record = {
        "id": "a",
        "text": "Ana in Rome",
        "mentions": [{"start": 7, "end": 11, "id": "m.2"}, {"start": 0, "stop": 3, "id": "m.1"}],
    }
    (tmp_path / "x.jsonl").write_text(json.dumps(record))
    (document,) = read(tmp_path / "x.jsonl")
    assert isinstance(document, Document)
    assert document.mentions == (GivenMention(0, 3, "m.1"), GivenMention(7, 11, "m.2"))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"text": "Ana"}', "'id' is missing"),
        ('{"id": "a", "text": 3}', "'text' is a number, not a string"),
        ('{"id": "a", "text": ', "not JSON"),
        (
            '{"id": "a", "text": "Ana", "mentions": [{"start": 1, "end": 9, "id": "m"}]}',
            "mention [1, 9] lies outside the 3",
        ),
        ('{"id": "a", "text": "Ana", "mentions": [{"start": 0, "end": 3}]}', "'id' is missing"),
        ('{"id": "a", "text": "Ana", "mentions": ["Ana"]}', "'mentions' is not a list of objects"),
        ('{"id": "a", "text": " \\n "}', "empty"),
        ('{"id": "a", "text": "' + "\\u0000" * 9 + '"}', "9 of 9 characters are NUL"),
    ],
)
def test_a_bad_line_is_left_out_with_its_reason(tmp_path: Path, line: str, reason: str) -> None:
    (tmp_path / "x.jsonl").write_text('{"id": "good", "text": "Good."}\n' + line)
    good, bad = read(tmp_path / "x.jsonl")
    assert isinstance(good, Document)
    assert isinstance(bad, LeftOut)
    assert bad.where == f"{tmp_path / 'x.jsonl'}:2"
    assert bad.reason.startswith(reason)


def test_odd_encodings_are_read_and_marked_or_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("Zürich".encode("utf-16"))
    (tmp_path / "b.txt").write_bytes("Zürich".encode("cp1252"))
    (tmp_path / "c.txt").write_bytes(b"Z\0rich")
    assert [item[1:] for item in read(tmp_path)] == [
        ("Zürich", None, False, False),
        ("Zürich", None, True, False),
        ("Z rich", None, False, True),
    ]
    assert reasons(tmp_path, only_utf8=True) == ["byte 2 is not UTF-8"]


def test_empty_binary_and_damaged_documents_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"")
    (tmp_path / "b.txt").write_bytes(bytes(range(256)) * 9)
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b"Ana " * 999)[:20])
    assert [reason.split(":")[0] for reason in reasons(tmp_path)] == [
        "empty",
        "531 of 2,304 characters are control characters",
        "the gzip file is truncated or damaged",
    ]


def test_a_gigantic_document_is_left_out_also_when_it_is_packed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a" * (2**20 + 1))
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"a" * (2**20 + 1)))
    (tmp_path / "c.txt").write_bytes(b"a" * 2**20)
    assert reasons(tmp_path, max_document_mb=1) == ["larger than max_document_mb (1 MB)"] * 2
    (tmp_path / "d.jsonl").write_text(json.dumps({"id": "a", "text": "a" * 2**20}))
    assert reasons(tmp_path / "d.jsonl", max_document_mb=1) == ["larger than max_document_mb (1 MB)"]
    assert not reasons(tmp_path / "d.jsonl", max_document_mb=2)


def test_a_name_that_is_not_utf_8_can_be_written(tmp_path: Path) -> None:
    for name in (b"a\xff.txt", b"b\xff.txt", b"c\xff.pdf"):
        (tmp_path / os.fsdecode(name)).write_text("" if name.startswith(b"b") else "Ana.")
    document, empty, other = read(tmp_path)
    assert isinstance(document, Document)
    assert document.id == "a\ufffd.txt"
    assert [item.where for item in (empty, other) if isinstance(item, LeftOut)] == [
        f"{tmp_path}/b\ufffd.txt",
        f"{tmp_path}/c\ufffd.pdf",
    ]


def test_a_folder_without_documents_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no documents; expected files ending in"):
        read(tmp_path)


def test_the_fingerprint_is_of_text_and_mentions() -> None:
    document = Document("a", "Ana")
    assert document.fingerprint == Document("b", "Ana").fingerprint
    assert document.fingerprint != Document("a", "Bo").fingerprint
    assert document.fingerprint != document._replace(mentions=()).fingerprint


texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"))


@given(texts, st.sampled_from(["utf-8-sig", "utf-16", "utf-32"]))
def test_texts_with_a_byte_order_mark_are_read_by_it(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == Decoded(text)


@given(texts.filter(lambda text: not text.startswith("\ufeff")))
def test_texts_without_a_mark_are_utf_8(text: str) -> None:
    assert decode(text.encode()) == Decoded(text)


def test_other_bytes_are_read_as_windows_text_and_flagged() -> None:
    assert decode("“Zürich”".encode("cp1252")) == Decoded("“Zürich”", is_not_utf8=True)


def test_bytes_without_meaning_in_windows_text_are_latin_1() -> None:
    assert decode(b"Z\xfcrich \x81") == Decoded("Zürich \x81", is_not_utf8=True)


def test_other_bytes_can_be_refused() -> None:
    with pytest.raises(BadLineError, match="byte 2 is not UTF-8"):
        decode("Zürich".encode("cp1252"), only_utf8=True)


def test_a_wrong_byte_order_mark_is_reported() -> None:
    with pytest.raises(BadLineError, match="the byte order mark says utf-16, but byte"):
        decode(b"\xff\xfea")


def test_a_nul_becomes_a_space_and_many_are_refused() -> None:
    assert decode(b"Ana\0Diaz") == Decoded("Ana Diaz", has_nul=True)
    with pytest.raises(BadLineError, match="not text, or UTF-16 without a BOM"):
        decode("Ana Diaz was born in Rome".encode("utf-16-le"))
