"""What every reader of sentences promises."""

import importlib
import json
import pkgutil
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sayso.readers
from readers.strategies import fragments, json_records, plain_sentences
from sayso.readers import READERS
from sayso.readers.base import BadLine, Line, SentenceItem
from sayso.readers.files import read_lines
from sayso.records import Sentence
from steps import growth

WRITERS = [name for name, reader in READERS.items() if reader.write]


def sample(form: str, ending: str = ".") -> list[str]:
    """Return the lines of one sentence, in which Ana was born in Rome."""
    text = f"ana was born in rome {ending}"
    head, tail = {"id": "m.1", "name": "ana"}, {"id": "m.2", "name": "rome"}
    crowd = {"distant_relation": "/born", "workers": 15, "any_relation": 1.0, "distant_relation_seen": 0.8}
    tagged = text.replace("ana", "<e1>ana</e1>", 1).replace("rome", "<e2>rome</e2>", 1)
    return {
        "nre": [f"m.1\tm.2\tana\trome\t/born\t{text}\t###END###"],
        "opennre": [json.dumps({"text": text, "h": head, "t": tail, "relation": "/born"})],
        "jsonl": [json.dumps({"tokens": text.split(), "head": head, "tail": tail, "relations": ["/born"]})],
        "tagged": [f'1\t"{tagged}"', "/born(e1,e2)", "Comment: none", ""],
        "crowdtruth": [json.dumps({"text": text, "head": "ana", "tail": "rome", **crowd})],
    }[form]


def read(form: str, lines: list[str | BadLine]) -> list[SentenceItem]:
    return list(READERS[form].read(enumerate(lines, 1)))


def test_every_reader_in_the_folder_is_registered() -> None:
    names = [found.name for found in pkgutil.iter_modules(sayso.readers.__path__) if not found.ispkg]
    modules = [importlib.import_module(f"sayso.readers.{name}") for name in names]
    readers = {module.recognises for module in modules if hasattr(module, "recognises")}
    assert readers == {reader.recognises for reader in READERS.values()}


@pytest.mark.parametrize("form", READERS)
def test_the_first_form_to_recognise_a_line_is_its_own(form: str) -> None:
    first_line = sample(form)[0]
    assert next(name for name, reader in READERS.items() if reader.recognises(first_line)) == form


@pytest.mark.parametrize("form", READERS)
def test_the_sample_is_read(form: str) -> None:
    ((number, sentence),) = read(form, [*sample(form)])
    assert number == 1
    assert isinstance(sentence, Sentence)
    assert sentence.tokens == ("ana", "was", "born", "in", "rome", ".")
    assert (sentence.head.spans, sentence.tail.spans) == (((0, 1),), ((4, 5),))
    assert sentence.relations == ("/born",)


@pytest.mark.parametrize("form", READERS)
@given(lines=st.lists(st.text() | fragments | json_records.map(json.dumps), max_size=6))
def test_no_text_makes_a_reader_raise(form: str, lines: list[str]) -> None:
    for number, item in read(form, [*lines]):
        assert 1 <= number <= len(lines)
        assert isinstance(item, Sentence | BadLine)


@pytest.mark.parametrize("form", READERS)
@given(line=st.text() | fragments | json_records.map(json.dumps))
def test_no_text_makes_recognition_raise(form: str, line: str) -> None:
    assert READERS[form].recognises(line) in (True, False)


@pytest.mark.parametrize("form", READERS)
@given(data=st.data())
def test_a_damaged_sample_does_not_raise(form: str, data: st.DataObject) -> None:
    text = "\n".join(sample(form))
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, len(text)))
    damaged = (
        text[:start] + data.draw(st.sampled_from(["", "\t", '"', "[", "0", "{}", "null", "\\ud800"])) + text[stop:]
    )
    assert all(isinstance(item, Sentence | BadLine) for _, item in read(form, [*damaged.split("\n")]))


@pytest.mark.parametrize("form", READERS)
def test_a_sentence_comes_before_the_next_is_asked_for(form: str) -> None:
    pulled = 0

    def endless() -> Iterator[Line]:
        nonlocal pulled
        for repeat in count():
            for offset, line in enumerate(sample(form)):
                pulled += 1
                yield repeat * len(sample(form)) + offset + 1, line

    items = list(islice(READERS[form].read(endless()), 50))
    assert len(items) == 50
    assert pulled <= 50 * len(sample(form))


@pytest.mark.parametrize("form", READERS)
def test_bad_bytes_pass_through_with_their_number(form: str) -> None:
    bad = BadLine("byte 3 of the line is not UTF-8")
    items = read(form, [*sample(form), bad, *sample(form)])
    at = len(sample(form)) + 1
    assert [number for number, _ in items] == [1, at, at + 1]
    assert items[1] == (at, bad)


@pytest.mark.parametrize("form", READERS)
def test_windows_line_ends_make_no_difference(form: str, tmp_path: Path) -> None:
    text = "\n".join(sample(form) * 2) + "\n"
    (tmp_path / "unix").write_bytes(text.encode())
    (tmp_path / "windows").write_bytes(text.replace("\n", "\r\n").encode())
    unix, windows = (list(READERS[form].read(read_lines(tmp_path / name))) for name in ("unix", "windows"))
    assert unix == windows
    assert len(unix) == 2


@pytest.mark.parametrize("form", READERS)
def test_repeated_lines_are_repeated_sentences(form: str) -> None:
    (_, first), (_, second) = read(form, [*sample(form), *sample(form)])
    assert first == second


@pytest.mark.parametrize("form", READERS)
def test_a_sentence_of_100000_tokens_is_a_bad_line(form: str) -> None:
    ((_, item),) = read(form, [*sample(form, ending="word " * 100_000)])
    assert isinstance(item, BadLine)
    assert "100,005 tokens" in item.reason


@pytest.mark.parametrize("form", READERS)
def test_a_name_that_is_not_in_the_sentence_is_a_bad_line(form: str) -> None:
    if form == "tagged":
        pytest.skip("the tags are the place and the name")
    lines = [
        line.replace("born in rome", "born in oslo").replace('"rome", "."', '"oslo", "."') for line in sample(form)
    ]
    ((number, item),) = read(form, [*lines])
    assert (number, item) == (1, BadLine("tail mention 'rome' is not in the sentence"))


@pytest.mark.parametrize("form", WRITERS)
@given(sentence=plain_sentences())
def test_what_is_written_is_read_back_the_same(form: str, sentence: Sentence) -> None:
    write = READERS[form].write
    assert write is not None
    assert read(form, [*write(sentence).split("\n")]) == [(1, sentence)]


@pytest.mark.parametrize("form", WRITERS)
@given(sentence=plain_sentences())
def test_what_is_written_is_recognised(form: str, sentence: Sentence) -> None:
    write = READERS[form].write
    assert write is not None
    assert READERS[form].recognises(write(sentence).split("\n")[0])


@pytest.mark.parametrize("form", READERS)
def test_a_sentence_full_of_mentions_is_read_with_work_in_proportion(form: str) -> None:
    def read_many(num: int) -> None:
        ((_, item),) = read(form, [*sample(form, ending=" ".join(["ana rome"] * num))])
        assert isinstance(item, Sentence)
        assert len(item.head.spans) == len(item.tail.spans) == num + 1

    assert growth(read_many, 50) < 6


@pytest.mark.parametrize("form", READERS)
def test_a_control_character_in_a_name_is_a_bad_line(form: str) -> None:
    lines = [line.replace("rome", "ro\x9bme") for line in sample(form)]
    ((number, item),) = read(form, [*lines])
    assert number == 1
    assert isinstance(item, BadLine)
    assert "control character" in item.reason


@pytest.mark.parametrize("key", ["h", "relation"])
def test_an_id_or_a_relation_that_would_write_another_fact_is_a_bad_line(key: str) -> None:
    record = json.loads(sample("opennre")[0])
    record |= {"h": record["h"] | {"id": "m.1\tborn\tm.2\nm.9"}} if key == "h" else {"relation": "a\tb"}
    ((_, item),) = read("opennre", [json.dumps(record)])
    assert isinstance(item, BadLine)
    assert "control character" in item.reason
