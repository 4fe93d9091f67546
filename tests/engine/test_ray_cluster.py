"""Extraction on a real cluster of two nodes: the same facts as in one process, even if workers or nodes die."""

import filecmp
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.two_nodes import add_node, two_nodes
from extract.toy_corpus import EVERYTHING, differing, facts_of, sentences, write
from sayso.documents import build as building
from sayso.documents.settings import BuildInputs, BuildSettings
from sayso.engine import EngineSettings, open_ray
from sayso.errors import UserError
from sayso.extract.run import extract
from sayso.extract.settings import ExtractInputs
from sayso.invent.raw import invent_raw
from sayso.invent.settings import InventSettings
from sayso.store import parallel
from sayso.store.inputs import Inputs, PrepareSettings
from sayso.store.prepare import prepare
from toy_run import corpus_lines, make_run, make_store, toy_config

pytestmark = pytest.mark.slow
SETTINGS = replace(EVERYTHING, num_shards=12, piece_bytes=4_000, slice_bytes=500)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with two_nodes() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> ExtractInputs:
    folder = tmp_path_factory.mktemp("ray")
    run = make_run(toy_config("type_and_words", use_entities=True), make_store(folder), folder / "run")
    return ExtractInputs(run=run, corpus=write(folder / "c.jsonl", sentences(range(3), num_pairs=24)))


@pytest.fixture(scope="module")
def expected(inputs: ExtractInputs, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return facts_of(inputs.run, inputs.corpus, tmp_path_factory.mktemp("local") / "out", EVERYTHING)


def dying_once(function: Callable[[Any], Any], marker: Path) -> Callable[[Any], Any]:
    """Return the function, in a worker that is killed (as by the operating system) with its first shard.

    It dies after writing the shard's files but before returning: the shard is done again and overwrites them.
    """

    def work(shard: Any) -> Any:
        result = function(shard)
        if not marker.exists():
            marker.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return work


def meeting(function: Callable[[Any], Any], folder: Path) -> Callable[[Any], Any]:
    """Return the function, which waits until both nodes have called it; each leaves a file."""

    def work(shard: Any) -> Any:
        import ray

        (folder / str(ray.get_runtime_context().get_node_id())).touch()
        deadline = time.monotonic() + 400
        while len(list(folder.iterdir())) < 2:  # or the first to be there has done all before the second comes
            assert time.monotonic() < deadline, "the other node has not come"
            time.sleep(0.05)
        return function(shard)

    return work


def test_two_nodes_of_which_workers_die_find_what_this_process_finds(
    cluster: Any, inputs: ExtractInputs, expected: Any, tmp_path: Path
) -> None:
    with open_ray(EngineSettings(address=cluster.address)) as ray_engine:

        def engine(function: Callable[[Any], Any], shards: Iterable[Any]) -> Iterator[Any]:
            stage = tmp_path / type(function).__name__
            (stage / "nodes").mkdir(parents=True)
            return ray_engine(meeting(dying_once(function, stage / "died"), stage / "nodes"), shards)

        found = extract(inputs, SETTINGS, tmp_path / "out", engine=engine)
    for stage in ("Gatherer", "ShardPredictor"):
        assert (tmp_path / stage / "died").exists(), "a worker of each stage died"
        assert len(list((tmp_path / stage / "nodes").iterdir())) == 2
    assert len(expected) == 24 * 2
    assert not differing(list(found), expected)


def test_a_node_that_leaves_changes_nothing(cluster: Any, inputs: ExtractInputs, expected: Any, tmp_path: Path) -> None:
    leaving = next(iter(cluster.worker_nodes))
    with open_ray(EngineSettings(address=cluster.address)) as ray_engine:

        def engine(function: Callable[[Any], Any], shards: Iterable[Any]) -> Iterator[Any]:
            for number, result in enumerate(ray_engine(function, shards)):
                if number == 1 and leaving in cluster.worker_nodes:
                    cluster.remove_node(leaving, allow_graceful=False)
                yield result

        found = extract(inputs, SETTINGS, tmp_path / "out", engine=engine)
    assert leaving not in cluster.worker_nodes
    add_node(cluster)
    assert not differing(list(found), expected)


def test_a_store_is_the_same_whoever_reads_and_dies(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "PIECE_BYTES", 900)
    # The last lines repeat the first ones: they are left out only where two workers hash the same text alike.
    (tmp_path / "train.txt").write_text("\n".join([*corpus_lines(), *corpus_lines()[:40]]) + "\n")
    inputs, settings = Inputs(train=tmp_path / "train.txt"), PrepareSettings()
    expected = prepare(inputs, settings, tmp_path / "here", lambda *_: None)
    (tmp_path / "nodes").mkdir()
    with open_ray(EngineSettings(address=cluster.address)) as ray_engine:

        def engine(function: Callable[[Any], Any], shards: Iterable[Any]) -> Iterator[Any]:
            return ray_engine(meeting(dying_once(function, tmp_path / "died"), tmp_path / "nodes"), shards)

        found = prepare(inputs, settings, tmp_path / "there", lambda *_: None, engine=engine)
    assert (tmp_path / "died").exists(), "a worker died"
    assert found == expected
    assert expected["read"]["train"]["num_repeated"] == 40
    names = [path.name for path in (tmp_path / "here").iterdir()]
    assert filecmp.cmpfiles(tmp_path / "here", tmp_path / "there", names, shallow=False)[1:] == ([], [])


def test_a_corpus_is_the_same_whoever_builds_and_dies(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "SHARD_DOCUMENTS", 10)
    invent_raw(tmp_path / "raw", InventSettings(train_sentences=300, test_sentences=100, documents=40))
    tables = {"kb": "kb.tsv", "names": "names.tsv", "types": "types.json", "relations": "relations.tsv"}
    inputs = BuildInputs(
        documents=tmp_path / "raw" / "documents.jsonl",
        **{name: tmp_path / "raw" / file for name, file in tables.items()},  # type: ignore[arg-type]
    )
    building.build(inputs, BuildSettings(), tmp_path / "here", lambda *_: None)
    with open_ray(EngineSettings(address=cluster.address)) as ray_engine:

        def engine(function: Callable[[Any], Any], shards: Iterable[Any]) -> Iterator[Any]:
            return ray_engine(dying_once(function, tmp_path / "died"), shards)

        building.build(inputs, BuildSettings(), tmp_path / "there", lambda *_: None, engine=engine)
    here, there = (
        {f.relative_to(d): f.read_bytes() for f in d.rglob("*") if f.is_file()}
        for d in (tmp_path / "here", tmp_path / "there")
    )
    assert (tmp_path / "died").exists(), "a worker died"
    assert here == there
    assert len(list((tmp_path / "here" / "train").iterdir())) > 2


def test_what_cannot_be_helped_is_said_in_one_line(cluster: Any) -> None:
    def kill(_: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def refuse(shard: int) -> None:
        raise UserError(f"c.jsonl:{shard}: bad")

    with open_ray(EngineSettings(address=cluster.address, num_workers=1)) as engine:
        with pytest.raises(UserError, match=r"^c\.jsonl:7: bad$"):
            list(engine(refuse, [7]))
        with pytest.raises(UserError, match="workers keep dying"):
            list(engine(kill, [7]))
        assert list(engine(str, [7])) == ["7"]
    with pytest.raises(
        UserError, match=r"no cluster at 127\.0\.0\.1:1 \(.*refused\); start one with `ray start --head`"
    ):
        open_ray(EngineSettings(address="127.0.0.1:1")).__enter__()
    needs_gpu = EngineSettings(address=cluster.address, num_gpus=1)
    with open_ray(needs_gpu) as engine, pytest.raises(UserError, match="a worker needs 1 GPU, but the cluster has 0"):
        list(engine(str, [7]))


def test_without_an_address_a_cluster_of_its_own_is_started(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    with open_ray(EngineSettings(num_workers=1)) as engine:
        assert list(engine(str, [7])) == ["7"]
