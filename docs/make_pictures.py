"""Take screenshots of the workbench, the report, an explained fact and a fact of a real article, after `make demo`.

    make demo
    python docs/make_pictures.py demo

Two annotators have marked the first facts: one according to the ground truth, the other with occasional differences.
"""

import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright

DOCS = Path(__file__).parent
RUNS = ("cnns_att_f_ld", "directsup_f_ld")
NUM_MARKS = 240
DISSENT = 0.25
LABELS = ("rationale", "irrelevant", "unsure")
SAYSO = (sys.executable, "-m", "sayso")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
DECIDED = {0: "a", 2: "x", 4: "e", 5: "a"}
"""Decisions on facts in the table."""
REAL_FACT = {"head": "algeria", "relation": "member_of", "tail": "opec"}


def write_marks(truth: Path, out: Path) -> None:
    """Write both annotators' marks on the first facts."""
    rng = random.Random(13)
    lines = [json.loads(line) for line in truth.read_text().splitlines()[:NUM_MARKS]]
    marks = [line | {"by": "Anna"} for line in lines]
    for line in lines:
        is_other = rng.random() < DISSENT
        marks.append(line | {"by": "Ben"} | ({"label": rng.choice(LABELS)} if is_other else {}))
    out.write_text("".join(json.dumps(mark) + "\n" for mark in marks))


@contextmanager
def workbench(store: Path, runs: tuple[Path, ...], database: Path, facts: Path) -> Iterator[str]:
    """Yield the URL of a workbench with a store and its runs, and extracted facts."""
    given = [word for run in runs for word in ("--run", str(run))]
    options = ("--db", str(database), "--facts", str(facts), "--port", "0")
    command = [*SAYSO, "serve", "--data", str(store), *given, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        line = next(line for line in process.stdout if line.startswith("workbench: "))
        try:
            yield line.split()[1]
        finally:
            process.terminate()


def take(page: Page, name: str, height: int = 860, width: int = 1280) -> None:
    """Take one screenshot."""
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_load_state("networkidle")
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=DOCS / f"{name}.png")


def take_annotating(page: Page) -> None:
    """Take the annotation page with a half-marked fact, and the agreement page."""
    page.goto("/annotate")
    page.get_by_role("button", name="Start").click()
    page.wait_for_selector("li.current")
    while page.locator("#sentences > li").count() < 4:
        before = page.url
        page.keyboard.press("n")
        page.wait_for_url(lambda url, before=before: url != before)
        page.wait_for_selector("li.current")
    page.keyboard.press("i")
    page.keyboard.press("r")
    page.wait_for_selector("text=· saved")
    take(page, "workbench-annotate")
    page.goto("/agreement")
    take(page, "workbench-agreement")


def wait_until_saved(page: Page) -> None:
    """Wait until the browser has sent all decisions."""
    while page.evaluate("Object.keys(localStorage).length"):
        page.wait_for_timeout(50)


def take_facts(page: Page) -> None:
    """Take the table of facts, with some decisions, and one fact."""
    table = f"/predictions/{RUNS[0]}?max_probability=0.93&sort=probability"
    for place, key in DECIDED.items():
        page.goto(table)
        page.locator("a.open").nth(place).click()
        page.wait_for_url("**/fact?**")
        page.keyboard.press(key)
        wait_until_saved(page)
    page.goto(table)
    take(page, "workbench-facts")
    page.goto(f"/predictions/{RUNS[0]}?sort=sentences&relation=/location/location/contains")
    page.locator("a.open").nth(2).click()
    page.wait_for_url("**/fact?**")
    take(page, "workbench-fact", 1040)


def take_review(page: Page) -> None:
    """Take the table of extracted facts, grouped by pair, and one fact with decisions on its sentences."""
    page.goto("/review?group=pair")
    for key in "jajxjss":
        page.keyboard.press(key)
    wait_until_saved(page)
    take(page, "workbench-review", 1040)
    page.goto("/review?decision=open&sort=sentences")
    page.locator("a.open").first.click()
    page.wait_for_url("**/fact?**")
    for key in "y4":
        page.keyboard.press(key)
    page.wait_for_selector(".support .notice")
    take(page, "workbench-review-fact", 1400)


def take_real_fact(page: Page, facts: Path) -> None:
    """Take the fact that the README opens with."""
    page.goto(f"/review/{facts.name}/fact?{urlencode(REAL_FACT)}")
    take(page, "real-fact", 760)


def sign_in(browser: Browser, url: str) -> Page:
    """Return a page of the workbench, signed in."""
    page = browser.new_context(base_url=url).new_page()
    page.goto("/sign-in")
    page.fill("#name", "Anna")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda opened: "/sign-in" not in opened)
    return page


def take_files(page: Page, demo: Path, folder: Path) -> None:
    """Take the report, and the fact that the README explains."""
    page.goto((demo / "report" / "report.html").resolve().as_uri())
    take(page, "report", 1380, 1045)
    explained = folder / "explained.html"
    pair = ("--head", "w.00230", "--tail", "w.01430", "--relation", "/location/location/contains")
    command = (*SAYSO, "explain", str(demo / RUNS[0]), "--data", str(demo / "store"), *pair, "--html", str(explained))
    subprocess.run(command, check=True)
    page.goto(explained.as_uri())
    take(page, "explained-fact", 860, 1000)


def main(demo: Path) -> None:
    """Start the workbench, sign in, and take the screenshots."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as player:
        marks, database = Path(name) / "marks.jsonl", Path(name) / "marks.db"
        write_marks(demo / "corpus" / "rationales.jsonl", marks)
        subprocess.run([*SAYSO, "annotations", "import", str(marks), "--db", str(database)], check=True)
        corpus, facts = demo / "corpus", Path(name) / "test-corpus"
        known = ("--kb", str(corpus / "triples.tsv"), "--types", str(corpus / "types.json"), "--out", str(facts))
        subprocess.run([*SAYSO, "extract", str(demo / RUNS[0]), str(corpus / "test.jsonl"), *known], check=True)
        browser = player.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        with workbench(demo / "store", tuple(demo / run for run in RUNS), database, facts) as url:
            page = sign_in(browser, url)
            take_annotating(page)
            take_facts(page)
            take_review(page)
        found = demo / "wiki-facts"
        with workbench(demo / "wiki-store", (), Path(name) / "decisions.db", found) as url:
            take_real_fact(sign_in(browser, url), found)
        take_files(browser.new_page(), demo, Path(name))
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
