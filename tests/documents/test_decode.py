import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.documents.decode import Decoded, UnreadableError, decode

texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"))


@given(texts, st.sampled_from(["utf-8-sig", "utf-16", "utf-32"]))
def test_texts_with_a_byte_order_mark_are_read_by_it(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == Decoded(text)


@given(texts.filter(lambda text: not text.startswith("\ufeff")))
def test_texts_without_a_mark_are_utf_8(text: str) -> None:
    assert decode(text.encode()) == Decoded(text)


def test_other_bytes_are_windows_text_and_said_to_be() -> None:
    assert decode("“Zürich”".encode("cp1252")) == Decoded("“Zürich”", is_not_utf8=True)


def test_bytes_without_meaning_in_windows_text_are_latin_1() -> None:
    assert decode(b"Z\xfcrich \x81") == Decoded("Zürich \x81", is_not_utf8=True)


def test_other_bytes_can_be_refused() -> None:
    with pytest.raises(UnreadableError, match="byte 2 is not UTF-8"):
        decode("Zürich".encode("cp1252"), only_utf8=True)


def test_a_mark_that_lies_is_told() -> None:
    with pytest.raises(UnreadableError, match="its first bytes say utf-16-le"):
        decode(b"\xff\xfea")


def test_a_nul_is_a_space_and_many_are_no_text() -> None:
    assert decode(b"Ana\0Diaz") == Decoded("Ana Diaz", has_nul=True)
    with pytest.raises(UnreadableError, match="not a text, or UTF-16 without a mark"):
        decode("Ana Diaz was born in Rome".encode("utf-16-le"))
