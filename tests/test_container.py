"""The container file: its instructions, its health check, and a workbench under its restrictions, without an image."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import typer

from running import Running, serving, url_of
from sayso.cli import app
from script import ROOT
from toy_workbench import make_store

CAN_READ = 2
"""The number of the capability to read all files."""
TEXT = (ROOT / "Containerfile").read_text()


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the container file and their arguments."""
    lines = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", TEXT, flags=re.MULTILINE)).splitlines()
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines if line.strip())]


def argument(name: str) -> str:
    """Return the argument of an instruction that is there once."""
    (found,) = (rest for each, rest in instructions() if each == name)
    return found


def health_check() -> list[str]:
    """Return the command that checks the workbench."""
    command: list[str] = json.loads(argument("HEALTHCHECK").partition("CMD ")[2])
    return [sys.executable, *command[1:]]


def test_the_image_is_made_of_the_wheel_and_has_no_other_files() -> None:
    *sources, target = argument("COPY").split()
    constraints, wheel = sources
    assert (ROOT / constraints).is_file()
    assert re.fullmatch(r"dist/sayso-\*-py3-none-any\.whl", wheel)
    assert f"{target}{constraints}" in argument("RUN")
    assert "[serve" in argument("RUN")
    assert f"rm -r {target.rstrip('/')}" in argument("RUN")


def test_it_runs_without_root_and_stops_like_a_service() -> None:
    names = [name for name, _ in instructions()]
    assert set(names) == {
        *("FROM", "COPY", "RUN", "ENV", "USER", "WORKDIR", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD")
    }
    assert all(int(number) > 0 for number in argument("USER").split(":")), "by number: `runAsNonRoot` can check it"
    assert names.index("RUN") < names.index("USER") < names.index("ENTRYPOINT")
    assert argument("STOPSIGNAL") == "SIGTERM"
    assert json.loads(argument("ENTRYPOINT")) == ["sayso"]


def test_the_command_of_the_docs_is_one_of_the_workbench() -> None:
    page = (ROOT / "docs" / "deploy.md").read_text()
    (started,) = re.findall(r"^podman run ((?:.*\\\n)*.*)$", page, re.MULTILINE)
    words = shlex.split(started.replace("\\\n", " "))
    assert {"--read-only", "--tmpfs", "--cap-drop"} <= set(words)
    assert f"127.0.0.1:{argument('EXPOSE')}:{argument('EXPOSE')}" in words
    options = words[words.index("serve") + 1 :]
    context = typer.main.get_command(app).commands["serve"].make_context("serve", options)  # type: ignore[attr-defined]
    assert context.params["host"] == "0.0.0.0"
    assert context.params["leads"] == ["Anna"]


@pytest.mark.slow
def test_the_health_check_tells_a_workbench_that_answers_from_one_that_does_not(tmp_path: Path) -> None:
    options = ("--public-url", "https://example.org/sayso", "--lead", "Ada", "--port", 0, "--host", "0.0.0.0")
    with serving(make_store(tmp_path).folder, tmp_path / "marks.db", *options) as running:
        port = port_of(running.process.pid)
        command = [word.replace(argument("EXPOSE"), str(port)) for word in health_check()]
        assert command != health_check()
        assert subprocess.run(command, check=False, timeout=60).returncode == 0
    assert subprocess.run(command, check=False, timeout=60, stderr=subprocess.DEVNULL).returncode != 0


def port_of(process: int) -> int:
    """Return the port that a process listens on."""
    inodes = {str(each.readlink()) for each in Path(f"/proc/{process}/fd").iterdir()}
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
            return int(fields[1].split(":")[1], 16)
    raise AssertionError("it listens on no port")


def user_options() -> list[str]:
    """Return the options of `setpriv` for the user of the image without any capability.

    A user who cannot read the test machine's Python is replaced by root with no capability but to read.
    """
    user, group = argument("USER").split(":")
    powerless = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
    as_user = [*powerless, f"--reuid={user}", f"--regid={group}", "--clear-groups"]
    # The capabilities are gone only after the second `exec`.
    tried = subprocess.run([*as_user, "env", sys.executable, "-c", "import sayso"], check=False, capture_output=True)
    return ["setpriv", "--bounding-set=-all,+dac_read_search", *powerless[2:]] if tried.returncode else as_user


@contextmanager
def restricted(data: Path, *options: object) -> Iterator[Running]:
    """Yield a workbench run by the user of the image, with a read-only root file system, /tmp in memory, and data."""
    is_hidden = any(Path(path).is_relative_to("/tmp") for path in (ROOT, sys.prefix, sys.base_prefix))
    memory = "/media" if is_hidden else "/tmp"
    environment = [*shlex.split(argument("ENV")), f"PYTHONPATH={ROOT / 'src'}", f"PATH={os.environ['PATH']}"]
    environment.append(f"TMPDIR={memory}")
    run_as = [*user_options(), "env", "-i", *environment]
    serve = [sys.executable, "-c", "from sayso.cli import main; main()", "serve", *map(str, options)]
    script = f"""
        set -e
        mount --bind {shlex.quote(str(data))} /mnt
        mount -o remount,bind,ro /
        mount -t tmpfs tmpfs {memory}
        cd /mnt
        ! touch /written 2>/dev/null
        exec {shlex.join([*run_as, *serve])}
    """
    process = subprocess.Popen(["unshare", "--mount", "bash", "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        yield Running(url_of(process), process)
    finally:
        process.terminate()
        process.wait(60)
        assert process.stdout
        process.stdout.close()


def can_restrict() -> bool:
    """Return whether this process may mount file systems."""
    tools = all(shutil.which(name) for name in ("unshare", "setpriv"))
    if not tools or os.geteuid() != 0:
        return False
    tried = subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], check=False, capture_output=True
    )
    return tried.returncode == 0


@pytest.mark.slow
def test_it_needs_neither_root_nor_a_writable_root_file_system(tmp_path: Path) -> None:
    if not can_restrict():
        pytest.skip("only root can mount a read-only file system")
    make_store(tmp_path)
    if any(option.startswith("--reuid") for option in user_options()):
        for path in (tmp_path, *tmp_path.rglob("*")):
            os.chown(path, *map(int, argument("USER").split(":")))
    with restricted(tmp_path, "--data", "store", "--port", 0) as running:
        status = Path(f"/proc/{running.process.pid}/status").read_text()
        assert int(status.partition("CapEff:\t")[2].split()[0], 16) in (0, 1 << CAN_READ)
        command = [word.replace(f"127.0.0.1:{argument('EXPOSE')}", running.url[7:]) for word in health_check()]
        assert subprocess.run(command, check=False, timeout=60).returncode == 0
        running.process.terminate()
        assert running.process.wait(60) == 0
    assert (tmp_path / "store.annotations.db").stat().st_size
