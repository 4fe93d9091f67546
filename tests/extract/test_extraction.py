from pathlib import Path

from sayso.extract.run import Extraction
from sayso.extract.shard import shard_file, write_facts
from sayso.library import load
from toy import make_sentence
from toy_facts import make_extracted
from toy_run import make_run, make_store, toy_config


def test_an_extraction_becomes_a_frame_with_a_row_per_fact(tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    for shard, probability in enumerate((0.5, 0.9)):
        write_facts(shard_file(tmp_path, shard), None, [make_extracted(probability=probability)])
    frame = Extraction(folder=tmp_path, manifest={"num_shards": 2}).to_frame()
    assert frame["probability"].tolist() == [0.9, 0.5]
    assert frame.loc[0, "evidence"][0]["exact"] == "Windhoek is Namibia"


def test_predictions_of_a_corpus_become_a_frame(tmp_path: Path) -> None:
    model = load(make_run(toy_config(), make_store(tmp_path), tmp_path / "run"))
    frame = model.predict_corpus([make_sentence("h in t")], threshold=0.0).to_frame()
    assert list(frame.columns)[:2] == ["head", "head_name"]
    assert set(frame["relation"]) == set(model.relations)


def test_more_shards_than_open_files_are_merged_in_rounds(tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    for shard in range(600):
        write_facts(shard_file(tmp_path, shard), None, [make_extracted(probability=(shard * 7 % 600) / 600)])
    found = [fact.probability for fact in Extraction(folder=tmp_path, manifest={"num_shards": 600})]
    assert found == sorted((shard / 600 for shard in range(600)), reverse=True)
