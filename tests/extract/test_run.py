import gzip
import json
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from extract.toy_corpus import EVERYTHING, differing, facts_of, sentences, write
from sayso.documents.build import build
from sayso.documents.markup import without_markup
from sayso.documents.settings import BuildInputs, BuildSettings
from sayso.errors import BadInputError, UserError
from sayso.extract import shard as shards
from sayso.extract.folder import extraction_folder
from sayso.extract.gather import by_pair
from sayso.extract.run import Output, extract
from sayso.extract.settings import ExtractInputs
from sayso.library import load
from sayso.records import SUPPORT_LABELS


def test_probabilities_are_those_of_the_library_however_the_work_is_divided(run: Path, tmp_path: Path) -> None:
    corpus = write(tmp_path / "c.jsonl", sentences(range(5)))
    expected = {
        (f.head_id, f.relation, f.tail_id): (f.probability, f.num_sentences)
        for f in load(run).predict_corpus(sentences(range(5)), threshold=0.0)
    }
    for number, settings in enumerate((EVERYTHING, replace(EVERYTHING, num_shards=1, piece_bytes=300))):
        found = facts_of(run, corpus, tmp_path / f"out{number}", settings)
        assert len(found) == len(expected) == 6 * 2
        for fact in found:
            probability, num_sentences = expected[fact.head_id, fact.relation, fact.tail_id]
            assert fact.probability == pytest.approx(probability, abs=1e-6)
            assert fact.num_sentences == num_sentences == 3


def test_facts_come_with_ranked_quotes_support_and_provenance(run: Path, store: Path, tmp_path: Path) -> None:
    fact = facts_of(run, write(tmp_path / "c.jsonl", sentences(range(3))), tmp_path / "out")[0]
    assert [quote.rank for quote in fact.quotes] == [1, 2, 3]
    scores = [quote.score for quote in fact.quotes]
    assert scores == sorted(scores, reverse=True)
    assert {quote.source.document_id for quote in fact.quotes} == {"doc 0", "doc 1", "doc 2"}
    assert fact.support.kind in SUPPORT_LABELS
    manifest = json.loads((store / "manifest.json").read_text())
    assert (fact.run, fact.variant, fact.mechanism) == ("run", "CNNs+ATT+FE+E", "shapley")
    assert fact.data_fingerprint == manifest["fingerprint"]


def test_quotes_have_the_probability_from_the_sentence_alone_and_the_mentions(run: Path, tmp_path: Path) -> None:
    facts = facts_of(run, write(tmp_path / "c.jsonl", sentences(range(3))), tmp_path / "out")
    given = {sentence.text: sentence for sentence in sentences(range(3))}
    for fact in facts:
        for quote in fact.quotes:
            sentence = given[quote.sentence]
            alone = load(run).predict_corpus([sentence], threshold=0.0)
            (expected,) = (each.probability for each in alone if each.relation == fact.relation)
            assert quote.alone == pytest.approx(expected, abs=1e-5)
            for spans, mention in ((quote.head_spans, sentence.head), (quote.tail_spans, sentence.tail)):
                named = [quote.sentence[start:stop] for start, stop in spans]
                assert named == [" ".join(sentence.tokens[start:stop]) for start, stop in mention.spans]


def test_quotes_are_found_in_the_documents_that_the_corpus_was_built_from(run: Path, tmp_path: Path) -> None:
    documents = {
        "one": "Hello.\n\nPort Town1 (the  capital),\nNorth Land1’s port, isn't far. It's there.",
        "two": "“Port Town1’s in North Land1!” she said, smiling; we all know that.",
        "three": "The North Land1-based king/queen of Port Town1, no less, sings.",
        "four": "<p>Port <b>Town1</b>&#8217;s the <i>capital</i>&nbsp;of North Land1.</p>",
    }
    lines = (json.dumps({"id": name, "text": text}) + "\n" for name, text in documents.items())
    (tmp_path / "docs.jsonl").write_text("".join(lines))
    (tmp_path / "kb.tsv").write_text("l1\tcapital\tt1\n")
    (tmp_path / "names.tsv").write_text("l1\tNorth Land1\nt1\tPort Town1\n")
    tables = BuildInputs(documents=tmp_path / "docs.jsonl", kb=tmp_path / "kb.tsv", names=tmp_path / "names.tsv")
    build(tables, BuildSettings(), tmp_path / "corpus", lambda *_: None)
    inputs, settings = ExtractInputs(run=run, corpus=tmp_path / "corpus"), replace(EVERYTHING, max_evidence=4)
    extract(inputs, settings, tmp_path / "out", output=Output(forms=("jsonld",)))
    (*_, item) = json.loads((tmp_path / "out" / "facts.jsonld").read_text())["first"]["items"]
    selectors = {target["source"].split(":")[-1]: target["selector"] for target in item["target"]}
    assert selectors.keys() == documents.keys()
    for name, place in selectors.items():
        quote = place["refinedBy"]
        text = without_markup(documents[name][place["start"] : place["end"]]).text
        assert quote["prefix"] + quote["exact"] + quote["suffix"] == " ".join(text.split())
    assert selectors["one"]["refinedBy"]["exact"] == "Port Town1 (the capital), North Land1"
    assert selectors["four"]["refinedBy"]["exact"] == "Port Town1’s the capital of North Land1"


def test_the_order_of_lines_and_files_does_not_matter(run: Path, tmp_path: Path) -> None:
    together = write(tmp_path / "one" / "c.jsonl", sentences(range(4)))
    facts_of(run, together.parent, tmp_path / "first")
    shuffled = sentences(range(4))
    random.Random(1).shuffle(shuffled)
    write(tmp_path / "two" / "b.jsonl", shuffled[:7])
    write(tmp_path / "two" / "a.jsonl", shuffled[7:])
    facts_of(run, tmp_path / "two", tmp_path / "second")
    assert (tmp_path / "first" / "facts.jsonl").read_bytes() == (tmp_path / "second" / "facts.jsonl").read_bytes()


def test_only_facts_of_the_threshold_are_kept_the_most_probable_first(run: Path, tmp_path: Path) -> None:
    corpus = write(tmp_path / "c.jsonl", sentences(range(3)))
    everything = facts_of(run, corpus, tmp_path / "all")
    probabilities = [fact.probability for fact in everything]
    assert probabilities == sorted(probabilities, reverse=True)
    threshold = (probabilities[4] + probabilities[5]) / 2
    kept = facts_of(run, corpus, tmp_path / "some", replace(EVERYTHING, threshold=threshold))
    assert not differing(kept, everything[:5])


@pytest.mark.parametrize("way", ["resume", "since"])
def test_documents_added_later_give_the_same_facts_as_all_at_once(run: Path, tmp_path: Path, way: str) -> None:
    corpus, inputs = tmp_path / "corpus", ExtractInputs(run=run, corpus=tmp_path / "corpus")
    write(corpus / "0.jsonl", sentences(range(2)))
    extract(inputs, EVERYTHING, tmp_path / "out")
    # The first file grows at its end, and a file comes that stands before it: two pairs of the six have news.
    with (corpus / "0.jsonl").open("a") as file:
        file.write(write(tmp_path / "more", sentences(range(2, 3), num_pairs=1)).read_text())
    write(corpus / "00.jsonl", sentences(range(3, 4), num_pairs=2))
    out = tmp_path / ("out" if way == "resume" else "later")
    if way == "resume":
        found = extract(inputs, EVERYTHING, out, mode="resume")
    else:
        found = extract(inputs, EVERYTHING, out, since=tmp_path / "out")
    assert found.manifest["num_predicted"] == 2
    assert found.manifest["num_sentences"] == 2 * 6 + 1 + 2
    assert not differing(list(found), facts_of(run, corpus, tmp_path / "at once"))
    assert json.loads((out / "manifest.json").read_text())["is_finished"]


def test_a_shard_too_large_for_memory_is_predicted_in_slices_with_the_same_facts(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = list[int]()

    def noted(lines: list[str]) -> Iterator[tuple[tuple[str, str], list[str]]]:
        held.append(sum(map(len, lines)))
        return by_pair(lines)

    monkeypatch.setattr(shards, "by_pair", noted)
    monkeypatch.setattr(shards, "_MOST_OPEN", 3)
    corpus, whole = tmp_path / "corpus", replace(EVERYTHING, num_shards=1)
    inputs, sliced = ExtractInputs(run=run, corpus=corpus), replace(whole, slice_bytes=1_000)
    write(corpus / "0.jsonl", sentences(range(2), num_pairs=24))
    first = extract(inputs, sliced, tmp_path / "sliced")
    assert not differing(list(first), facts_of(run, corpus, tmp_path / "at once", whole))
    # The corpus grows, the number of shards does not; facts of pairs without news are kept, in whatever slice.
    write(corpus / "1.jsonl", sentences(range(2, 8), num_pairs=12))
    held.clear()
    found = extract(inputs, sliced, tmp_path / "sliced", mode="resume")
    assert len(held) > 9, "slices"
    assert max(held) < 3 * sliced.slice_bytes
    expected = extract(inputs, whole, tmp_path / "later", since=tmp_path / "at once")
    assert (found.manifest["num_predicted"], found.manifest["num_pairs"]) == (12, 24)
    about, others = ({**each.manifest, "files": None} for each in (found, expected))
    assert about == others, "checksums apart: of sums in another order the last digit may differ"
    assert not differing(list(found), list(expected))
    assert [fact.sort_key for fact in found] == sorted(fact.sort_key for fact in found)


def test_an_earlier_extraction_does_not_change(run: Path, tmp_path: Path) -> None:
    corpus = write(tmp_path / "corpus" / "0.jsonl", sentences(range(1))).parent
    facts_of(run, corpus, tmp_path / "out")
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    write(corpus / "1.jsonl", sentences(range(1, 2)))
    extract(ExtractInputs(run=run, corpus=corpus), EVERYTHING, tmp_path / "later", since=tmp_path / "out")
    assert before == {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}


def test_continuing_a_different_or_running_extraction_is_refused_and_leaves_nothing(run: Path, tmp_path: Path) -> None:
    inputs = ExtractInputs(run=run, corpus=write(tmp_path / "c.jsonl", sentences(range(1))))
    extract(inputs, EVERYTHING, tmp_path / "out")
    refusal = r"out: extracted with threshold 0\.0, not 0\.5: use the same value, or omit since"
    with pytest.raises(UserError, match=refusal):
        extract(inputs, replace(EVERYTHING, threshold=0.5), tmp_path / "later", since=tmp_path / "out")
    with (
        extraction_folder(tmp_path / "out").locked(),
        pytest.raises(UserError, match=r"out: `sayso extract` is running in this folder"),
    ):
        extract(inputs, EVERYTHING, tmp_path / "later", since=tmp_path / "out")
    assert len(list(extract(inputs, EVERYTHING, tmp_path / "later", since=tmp_path / "out"))) == 12


def test_pairs_of_entities_with_other_types_are_predicted_again(run: Path, tmp_path: Path) -> None:
    corpus, types = write(tmp_path / "c.jsonl", sentences(range(2))), tmp_path / "types.json"
    inputs = ExtractInputs(run=run, corpus=corpus, types=types)
    types.write_text(json.dumps({"l0": ["/location/country"], "l1": ["/location/country"]}))
    extract(inputs, EVERYTHING, tmp_path / "out")
    assert extract(inputs, EVERYTHING, tmp_path / "out", mode="resume").manifest["num_predicted"] == 0
    types.write_text(json.dumps({"l0": ["/location/country"], "l1": ["/person"]}))
    found = extract(inputs, EVERYTHING, tmp_path / "out", mode="resume")
    assert found.manifest["num_predicted"] == 1
    assert not differing(list(found), list(extract(inputs, EVERYTHING, tmp_path / "at once")))


def interrupted(num_shards: int) -> Callable[..., Iterator[Any]]:
    """Return an engine that ends with an interruption after this many shards."""

    def engine(function: Callable[[Any], Any], shards: Iterable[Any]) -> Iterator[Any]:
        for number, shard in enumerate(shards):
            if number == num_shards:
                raise KeyboardInterrupt
            yield function(shard)

    return engine


@pytest.mark.parametrize("num_done", [0, 1, 3])
def test_an_interrupted_run_resumes_with_the_same_result(run: Path, tmp_path: Path, num_done: int) -> None:
    corpus = write(tmp_path / "c.jsonl", sentences(range(3)))
    inputs, settings = ExtractInputs(run=run, corpus=corpus), replace(EVERYTHING, piece_bytes=2_000)
    facts_of(run, corpus, tmp_path / "whole", settings)
    with pytest.raises(KeyboardInterrupt):
        extract(inputs, settings, tmp_path / "out", engine=interrupted(num_done))
    assert not (tmp_path / "out" / "facts.jsonl").exists()
    if num_done:  # nothing would be lost where nothing is done
        with pytest.raises(UserError, match=r'out: .* was interrupted in this folder: continue with mode="resume"'):
            extract(inputs, settings, tmp_path / "out")
    extract(inputs, settings, tmp_path / "out", mode="resume")
    assert (tmp_path / "out" / "facts.jsonl").read_bytes() == (tmp_path / "whole" / "facts.jsonl").read_bytes()


def test_continuing_an_earlier_extraction_may_be_interrupted_too(run: Path, tmp_path: Path) -> None:
    corpus = write(tmp_path / "corpus" / "0.jsonl", sentences(range(2))).parent
    inputs = ExtractInputs(run=run, corpus=corpus)
    extract(inputs, EVERYTHING, tmp_path / "out")
    write(corpus / "1.jsonl", sentences(range(2, 3)))
    with pytest.raises(KeyboardInterrupt):
        extract(inputs, EVERYTHING, tmp_path / "later", since=tmp_path / "out", engine=interrupted(2))
    with pytest.raises(UserError, match=r'later: .* was interrupted in this folder: continue with mode="resume"'):
        extract(inputs, EVERYTHING, tmp_path / "later", since=tmp_path / "out")
    found = extract(inputs, EVERYTHING, tmp_path / "later", mode="resume")
    assert not differing(list(found), facts_of(run, corpus, tmp_path / "at once"))


def test_earlier_results_are_neither_overwritten_nor_mixed(run: Path, tmp_path: Path) -> None:
    corpus = write(tmp_path / "c.jsonl", sentences(range(1)))
    inputs = ExtractInputs(run=run, corpus=corpus)
    extract(inputs, EVERYTHING, tmp_path / "out")
    with pytest.raises(
        UserError, match='has finished in this folder: continue with mode="resume", start over with mode="overwrite"'
    ):
        extract(inputs, EVERYTHING, tmp_path / "out")
    with pytest.raises(UserError, match=r"extracted with threshold 0\.0, not 0\.5"):
        extract(inputs, replace(EVERYTHING, threshold=0.5), tmp_path / "out", mode="resume")
    with pytest.raises(UserError, match="divided into 4 shards"):
        extract(inputs, replace(EVERYTHING, num_shards=5), tmp_path / "out", mode="resume")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "precious").write_text("x")
    for mode in ("new", "resume", "overwrite"):
        with pytest.raises(UserError, match="the folder was not written by `sayso extract`"):
            extract(inputs, EVERYTHING, tmp_path / "mine", mode=mode)
    found = extract(inputs, replace(EVERYTHING, threshold=1.0), tmp_path / "out", mode="overwrite")
    assert (list(found), (tmp_path / "out" / "facts.jsonl").read_text()) == ([], "")


def test_a_corpus_that_changed_is_refused_by_name(run: Path, tmp_path: Path) -> None:
    corpus = write(tmp_path / "corpus" / "0.jsonl", sentences(range(2))).parent
    inputs = ExtractInputs(run=run, corpus=corpus)
    extract(inputs, EVERYTHING, tmp_path / "out")
    write(corpus / "0.jsonl", sentences(range(1, 4)))
    before = (tmp_path / "out" / "facts.jsonl").read_bytes()
    with pytest.raises(UserError, match=r"0\.jsonl: this file has changed since the earlier extraction"):
        extract(inputs, EVERYTHING, tmp_path / "out", mode="resume")
    assert (tmp_path / "out" / "facts.jsonl").read_bytes() == before, "what was found is not lost"
    (corpus / "0.jsonl").rename(corpus / "1.jsonl")
    with pytest.raises(UserError, match=r"0\.jsonl: part of the earlier extraction, but now missing"):
        extract(inputs, EVERYTHING, tmp_path / "out", mode="resume")


def test_bad_lines_are_reported_with_their_number_and_too_many_stop_the_run(run: Path, tmp_path: Path) -> None:
    corpus = write(tmp_path / "c.jsonl", sentences(range(2)))
    lines = corpus.read_text().splitlines()
    corpus.write_text("\n".join([*lines[:9], "", "{}", *lines[9:]]) + "\n")
    settings = replace(EVERYTHING, piece_bytes=1_000)
    inputs = ExtractInputs(run=run, corpus=corpus)
    with pytest.raises(BadInputError, match=r"c\.jsonl:11: .*\(1 of 13 lines are bad, more than 0\.10%"):
        extract(inputs, settings, tmp_path / "out")
    found = extract(inputs, replace(settings, max_bad_share=0.5), tmp_path / "out", mode="resume")
    assert (found.manifest["num_bad"], found.manifest["num_sentences"]) == (1, 12)


def test_after_a_refused_input_the_corrected_call_starts_over(run: Path, tmp_path: Path) -> None:
    corpus = write(tmp_path / "c.jsonl", sentences(range(2)))
    good = corpus.read_text()
    corpus.write_text(good + "{}\n")
    inputs = ExtractInputs(run=run, corpus=corpus)
    for _ in range(2):
        with pytest.raises(BadInputError, match=r"c\.jsonl:13: .* lines are bad"):
            extract(inputs, EVERYTHING, tmp_path / "out")
    corpus.write_text(good)
    found = extract(inputs, EVERYTHING, tmp_path / "out")
    assert (found.manifest["num_bad"], found.manifest["is_finished"]) == (0, True)
    with pytest.raises(UserError, match="has finished in this folder: continue with"):
        extract(inputs, EVERYTHING, tmp_path / "out")


def test_types_that_cannot_be_read_leave_no_folder(run: Path, tmp_path: Path) -> None:
    corpus = write(tmp_path / "c.jsonl", sentences(range(2)))
    with pytest.raises(UserError, match=r"types\.json"):
        extract(ExtractInputs(run=run, corpus=corpus, types=tmp_path / "types.json"), EVERYTHING, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_refused_call_keeps_the_work_of_an_interrupted_one(run: Path, tmp_path: Path) -> None:
    corpus = write(tmp_path / "c.jsonl", sentences(range(2)))
    inputs = ExtractInputs(run=run, corpus=corpus)

    def ends_after_gathering(work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        if isinstance(work, shards.ShardPredictor):
            raise KeyboardInterrupt
        return map(work, items)

    with pytest.raises(KeyboardInterrupt):
        extract(inputs, EVERYTHING, tmp_path / "out", engine=ends_after_gathering)
    for _ in range(2):
        with pytest.raises(UserError, match="was interrupted in this folder: continue with"):
            extract(inputs, EVERYTHING, tmp_path / "out")


def test_gzip_files_and_other_formats_are_read(run: Path, tmp_path: Path) -> None:
    plain = write(tmp_path / "plain.jsonl", sentences(range(2)))
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    settings = replace(EVERYTHING, piece_bytes=100)
    assert not differing(
        facts_of(run, packed, tmp_path / "a", settings), facts_of(run, plain, tmp_path / "b", settings)
    )
    nre = tmp_path / "c.txt"
    nre.write_text("l0\tt0\tnorth_land0\tport_town0\tNA\tport_town0 in north_land0 .\t###END###\n")
    assert [quote.sentence for quote in facts_of(run, nre, tmp_path / "c")[0].quotes] == ["port_town0 in north_land0 ."]


def test_sentences_that_no_model_can_read_are_counted(run: Path, tmp_path: Path) -> None:
    far = "north_land0 " + "x " * 30 + "port_town0"
    nre = tmp_path / "c.txt"
    nre.write_text(f"l0\tt0\tnorth_land0\tport_town0\tNA\t{far}\t###END###\n")
    found = extract(ExtractInputs(run=run, corpus=nre), EVERYTHING, tmp_path / "out")
    assert (list(found), found.manifest["num_too_far_apart"]) == ([], 1)


def test_a_name_affects_only_its_own_bag(run: Path, tmp_path: Path) -> None:
    """An entity with an unknown id is recognised by its name, which may differ between pairs."""
    known = sentences(range(1), num_pairs=2)
    unknown = [known[0]._replace(head=known[0].head._replace(entity_id="q"))]
    other = [known[1]._replace(head=known[1].head._replace(entity_id="q"))]
    alone = facts_of(run, write(tmp_path / "a.jsonl", other), tmp_path / "a")
    both = facts_of(
        run, write(tmp_path / "b.jsonl", unknown + other), tmp_path / "b", replace(EVERYTHING, num_shards=1)
    )
    assert not differing([fact for fact in both if fact.tail_id == "t1"], alone)
