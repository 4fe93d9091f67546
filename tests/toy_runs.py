"""A workbench with a toy store and two random runs, and a signed-in client."""

import re
from pathlib import Path

from fastapi.testclient import TestClient

from sayso.serve.app import make_app
from sayso.serve.server import ServeSettings
from toy_predictions import hostile_lines, make_plain_store, make_run_folder
from toy_run import corpus_lines

NUM_TEST_LINES = 72


def make_toy_settings(folder: Path) -> ServeSettings:
    """Return a store of a few bags, one of them hostile, with the predictions of two runs on it."""
    lines = corpus_lines()
    store = make_plain_store(folder, lines[:-NUM_TEST_LINES], lines[-NUM_TEST_LINES:] + hostile_lines())
    runs = tuple(make_run_folder(folder / name, store, seed) for seed, name in enumerate(("one", "two")))
    return ServeSettings(data=store.folder, database=folder / "marks.sqlite", runs=runs)


class Client(TestClient):
    """A signed-in HTTP client; all its requests carry the form token."""

    def __init__(self, settings: ServeSettings, name: str = "Ada") -> None:
        self.application = make_app(settings)
        super().__init__(self.application, base_url=settings.url)
        self.headers["X-Form-Token"] = self._token()
        self.post("/sign-in", data={"name": name}, follow_redirects=False)
        self.headers["X-Form-Token"] = self._token()

    def _token(self) -> str:
        found = re.search(r'name="form-token" content="(\w+)"', self.get("/sign-in").text)
        assert found
        return found[1]
