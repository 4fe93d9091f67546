"""`sayso backup` and `sayso restore`, also of the database of a workbench in use."""

import asyncio
import json
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from command import sayso
from load import Load, in_a_loop, make_room, num_lost, put_load
from running import serving
from sayso.annotate.people import annotator_named
from sayso.annotate.store import copy_database, reading_from, writing_to
from toy_workbench import fact_lines, make_store


def test_a_restored_database_has_the_content_of_the_backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with writing_to(Path("a.db")) as connection:
        annotator_named(connection, "Ada")
    kept = sayso("backup", "kept.db", "--db", "a.db", "--json")
    assert kept.returncode == 0, kept.stderr
    size = Path("kept.db").stat().st_size
    assert json.loads(kept.stdout) == {"written": "kept.db", "num_annotators": 1, "num_steps": 0, "num_bytes": size}
    assert kept.stderr == "wrote kept.db\nto restore it: sayso restore kept.db --db FILE\n"
    refused = sayso("restore", "kept.db", "--db", "a.db")
    told = "sayso: a.db: exists and is not overwritten; move it away, or choose another file\n"
    assert (refused.returncode, refused.stderr) == (2, told)
    Path("a.db").unlink()
    restored = sayso("restore", "kept.db", "--db", "a.db")
    assert restored.stdout == "0 recorded changes by 1 annotator\n"
    assert restored.stderr == "wrote a.db\nto open it: sayso serve --data STORE --db a.db\n"
    with reading_from(Path("a.db")) as connection:
        assert [row[0] for row in connection.execute("SELECT name FROM annotator")] == ["Ada"]


@pytest.mark.slow
def test_backups_made_while_annotators_work_miss_nothing_that_was_confirmed(tmp_path: Path) -> None:
    store = make_store(tmp_path, [line for pair in range(100, 200) for line in fact_lines(pair)])
    live = tmp_path / "marks.db"
    make_room(live)
    load, num_kept = Load([], {}), 0
    with serving(store.folder, live) as running, ThreadPoolExecutor(1) as pool:
        working = pool.submit(asyncio.run, put_load(running.url, 8, 800, load=load))
        while not working.done():
            confirmed = Load([], dict(load.sent))
            kept = tmp_path / f"kept {num_kept}.db"
            copied = copy_database(live, kept)
            assert num_lost(kept, confirmed) == 0
            assert copied.num_steps >= len(confirmed.sent)
            num_kept += bool(confirmed.sent) and len(confirmed.sent) < 800
            kept.unlink()
            time.sleep(0.05)
        working.result()
        confirmed = Load([], dict(load.sent))
        result = sayso("backup", tmp_path / "last.db", "--db", live)
        assert result.returncode == 0, result.stderr
    assert num_kept >= 3, "the annotators were working meanwhile"
    assert sayso("restore", tmp_path / "last.db", "--db", tmp_path / "restored.db").returncode == 0
    assert len(confirmed.sent) == 800
    assert num_lost(tmp_path / "restored.db", confirmed) == 0
    with sqlite3.connect(tmp_path / "restored.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    with serving(store.folder, tmp_path / "restored.db") as again:
        more = in_a_loop(put_load(again.url, 1, 10, "another"))
    assert len(more.sent) == 10
