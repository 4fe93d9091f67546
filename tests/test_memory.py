import resource

import pytest

from sayso import memory
from sayso.errors import UserError
from sayso.memory import available_bytes, refuse_beyond_memory


def test_what_is_available_is_bounded_by_every_limit(tmp_path, monkeypatch) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   2000 kB\n")
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_LIMITS", (tmp_path / "limit", tmp_path / "missing"))
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    assert available_bytes() == 2_048_000
    (tmp_path / "limit").write_text("max\n")
    assert available_bytes() == 2_048_000
    (tmp_path / "limit").write_text("1000000\n")
    assert available_bytes() == 1_000_000
    monkeypatch.setattr(resource, "getrlimit", lambda _: (5_000, 5_000))
    assert available_bytes() == 5_000


def test_without_a_table_of_memory_it_is_all_that_the_machine_has(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "missing")
    assert available_bytes() > 0


def test_what_does_not_fit_is_refused_with_both_sizes_and_a_remedy() -> None:
    refuse_beyond_memory(10**9, "a table needs", "make it smaller", available=10**9)
    message = r"^a table needs about 2\.0 GB of memory, but 1\.0 GB is available: make it smaller$"
    with pytest.raises(UserError, match=message):
        refuse_beyond_memory(2 * 10**9, "a table needs", "make it smaller", available=10**9)
