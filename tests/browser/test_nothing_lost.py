"""What an annotator did is what the database holds: comments, two tabs, facts reached backwards, thousands of keys."""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from browser.annotating import expect_saved, go_back_to_a_finished_fact, go_by, labels, open_fact, press
from browser.conftest import Served, SignIn
from running import serving
from sayso.annotate.marking import work_of
from sayso.annotate.people import Annotator
from sayso.annotate.queue import QueueSettings
from sayso.annotate.store import reading_from
from sayso.records import Triple
from sayso.serve.server import ServeSettings
from sayso.serve.workbench import Workbench

pytestmark = pytest.mark.slow

FACT = "/api/annotate/fact?bag={}&relation=capital"


def stored(page: Page, url: str, bag: int) -> dict[str, object]:
    """Return the server's version of a fact."""
    answer: dict[str, object] = page.request.get(url + FACT.format(bag)).json()
    return answer


def until(is_so: Callable[[], bool], seconds: float = 20) -> bool:
    """Wait until something is so; return whether it became so."""
    deadline = time.monotonic() + seconds
    while not (found := is_so()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def test_undo_on_a_submitted_fact_reached_backwards_reopens_it(workbench: Served, sign_in: SignIn) -> None:
    page = sign_in(workbench.url, "Ada")
    go_back_to_a_finished_fact(page)
    press(page, "c")
    page.keyboard.type("late")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Reopen")).to_be_visible()
    press(page, "z")
    expect(page.locator("#submit")).to_be_visible()
    expect(page.locator("#comment")).to_have_value("late")
    assert set(labels(page)) == {"irrelevant"}
    go_by(page, "n")
    assert labels(page)[0] == "rationale"


def test_next_goes_from_a_finished_fact_to_the_next_open_one(workbench: Served, sign_in: SignIn) -> None:
    page = sign_in(workbench.url, "Ada")
    page.get_by_role("button", name="Start").click()
    go_by(page, "n")  # the first fact is skipped
    for _ in range(3):
        press(page, "I")
        go_by(page, "n")
    here = page.url
    for _ in range(4):
        go_by(page, "p")
    press(page, "I")
    go_by(page, "n")
    assert page.url == here


def test_keys_pressed_before_the_next_fact_appears_count_on_it(workbench: Served, sign_in: SignIn) -> None:
    page = sign_in(workbench.url, "Ada")
    page.get_by_role("button", name="Start").click()
    press(page, "Inri")
    expect(page.locator("#count")).to_contain_text("2 of")
    assert labels(page)[:2] == ["rationale", "irrelevant"]
    expect_saved(page)


def test_a_click_on_a_fact_that_is_being_left_marks_no_other_fact(workbench: Served, sign_in: SignIn) -> None:
    page = sign_in(workbench.url, "Ada")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("li.current")).to_be_focused()
    here = page.url
    held_up: list[Route] = []
    page.route("**/annotate/fact?**", lambda route: held_up.append(route))
    page.keyboard.press("n")
    assert until(lambda: bool(page.wait_for_timeout(20) or held_up))
    page.get_by_role("button", name="rationale").first.click()
    page.get_by_role("button", name="Mark the rest irrelevant").click()
    for route in held_up:
        route.continue_()
    page.wait_for_url(lambda url: url != here)
    press(page, "j")
    expect_saved(page)
    assert not any(labels(page))


def test_a_comment_typed_just_before_the_tab_closes_is_kept(workbench: Served, sign_in: SignIn) -> None:
    page = sign_in(workbench.url, "Ada")
    other = page.context.new_page()
    open_fact(page, workbench.url, 0)
    press(page, "c")
    page.keyboard.type("closed in a hurry")
    page.close()
    assert until(lambda: stored(other, workbench.url, 0)["comment"] == "closed in a hurry")


def test_a_comment_that_never_reached_the_server_is_back_with_the_fact(
    shelf: ServeSettings, tmp_path: Path, sign_in: SignIn
) -> None:
    with serving(shelf.data, tmp_path / "marks.db") as running:
        page = sign_in(running.url, "Ada")
        other = page.context.new_page()
        open_fact(page, running.url, 0)
        press(page, "c")
        page.keyboard.type("while it was away")
    page.close()
    port = running.url.rsplit(":", 1)[1]
    with serving(shelf.data, tmp_path / "marks.db", "--port", port) as again:
        open_fact(other, again.url, 0)
        expect(other.locator("#comment")).to_have_value("while it was away")
        assert until(lambda: stored(other, again.url, 0)["comment"] == "while it was away")


def test_a_second_tab_is_told_and_shown_what_the_first_did(workbench: Served, sign_in: SignIn) -> None:
    first = sign_in(workbench.url, "Ada")
    second = first.context.new_page()
    for page in (first, second):
        open_fact(page, workbench.url, 0)
    press(first, "ri")
    expect_saved(first)
    press(second, "u")
    expect(second.get_by_role("alert")).to_contain_text("In another tab or window you marked sentence 1 as rationale")
    assert labels(second) == ["rationale", "irrelevant", ""]
    press(second, "jju")
    expect_saved(second)
    press(first, "c")
    first.keyboard.type("from the first tab")
    first.keyboard.press("Enter")
    expect(first.get_by_role("alert")).to_contain_text("you marked sentence 3 as unsure")
    expect(first.locator("#comment")).to_have_value("from the first tab")
    assert labels(first) == ["rationale", "irrelevant", "unsure"]
    first.locator("#comment").press("Enter")
    expect_saved(first)
    assert stored(first, workbench.url, 0)["comment"] == "from the first tab"
    sign_in.complaints[:] = [each for each in sign_in.complaints if "409 (Conflict)" not in each]


@pytest.mark.parametrize("key", ["Escape", "Enter"])
def test_escape_and_enter_leave_the_comment_and_nothing_typed_is_a_shortcut(
    workbench: Served, sign_in: SignIn, key: str
) -> None:
    page = sign_in(workbench.url, "Ada")
    open_fact(page, workbench.url, 0)
    press(page, "c")
    page.keyboard.type("rinuszpwc")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("I")
    page.keyboard.press(key)
    expect(page.locator("li.current")).to_be_focused()
    expect_saved(page)
    assert stored(page, workbench.url, 0)["comment"] == "rinuszpwc\nI"
    assert labels(page) == ["", "", ""]
    press(page, "r")
    assert labels(page) == ["rationale", "", ""]


Values = dict[str | int, str]


@dataclass
class Pressed:
    """What the keys should have done: a model of the page and of the database, in plain Python.

    A fact's values are its labels by place, and `comment`, `wrong` and `submitted`; an empty value means none.
    """

    queue: list[Triple]
    sizes: dict[Triple, int]
    assigned: list[Triple] = field(default_factory=list)
    values: dict[Triple, Values] = field(default_factory=dict)
    steps: list[tuple[Triple, Values, Values]] = field(default_factory=list)
    place: int = 0

    def __post_init__(self) -> None:
        self.show(self.next())

    @property
    def mine(self) -> Values:
        return self.values[self.fact]

    @property
    def open_places(self) -> list[int]:
        return [place for place in range(self.sizes[self.fact]) if not self.mine.get(place)]

    @property
    def is_submitted(self) -> bool:
        return bool(self.mine.get("submitted"))

    def show(self, fact: Triple, place: int | None = None) -> None:
        self.fact = fact
        if fact not in self.assigned:
            self.assigned.append(fact)
            self.values[fact] = {}
        self.place = place if place is not None else next(iter(self.open_places), 0)

    def record(self, news: Values) -> None:
        news = {name: value for name, value in news.items() if self.mine.get(name, "") != value}
        if news:
            self.steps.append((self.fact, {name: self.mine.get(name, "") for name in news}, news))
            self.mine.update(news)

    def next(self) -> Triple | None:
        """Return where `n` leads."""
        is_open = [each for each in self.assigned if not self.values[each].get("submitted")]
        here = self.assigned.index(self.fact) if self.assigned else -1
        later = [each for each in self.assigned[here + 1 :] if each in is_open]
        free = [each for each in self.queue if each not in self.assigned]
        skipped = [each for each in is_open if each != self.fact]
        return next(iter([*later, *free, *skipped]), None)

    def undo(self) -> None:
        if self.is_submitted:
            self.mine["submitted"] = ""
            return
        latest = [*reversed(range(len(self.steps)))]
        here = [number for number in latest if self.steps[number][0] == self.fact]
        for number in [*here, *latest]:
            fact, before, after = self.steps[number]
            if all(self.values[fact].get(name, "") == value for name, value in after.items()):
                del self.steps[number]
                self.values[fact].update(before)
                places = [name for name in before if isinstance(name, int)]
                if fact != self.fact:
                    self.show(fact, places[-1] if places else 0)
                elif places:
                    self.place = places[-1]
                return

    def can_press(self, key: str) -> bool:
        """Return whether the key stays on pages of facts: at the end of the queue, `n` leads to the start page."""
        if key != "n":
            return True
        trial = Pressed.__new__(Pressed)
        trial.__dict__ = {**vars(self), "values": {fact: dict(each) for fact, each in self.values.items()}}
        if not trial.is_submitted and not trial.open_places:
            trial.mine["submitted"] = "yes"
        return trial.next() is not None

    def press(self, key: str, text: str = "") -> None:
        if key == "c":
            self.record({"comment": text.strip()})
        elif key in "jk":
            self.place = min(max(self.place + (1 if key == "j" else -1), 0), self.sizes[self.fact] - 1)
        elif key == "p":
            self.show(self.assigned[max(0, self.assigned.index(self.fact) - 1)], self.place_before(self.fact))
        elif key == "z":
            self.undo()
        elif not self.is_submitted:
            self.work(key)
        if key == "n":
            following = self.next()
            assert following
            self.show(following)

    def place_before(self, fact: Triple) -> int | None:
        """Return the place that `p` keeps where there is no earlier fact."""
        return None if self.assigned.index(fact) else self.place

    def work(self, key: str) -> None:
        label = {"r": "rationale", "i": "irrelevant", "u": "unsure"}.get(key)
        if label:
            self.record({self.place: label})
            is_last = self.place == self.sizes[self.fact] - 1
            self.place = (self.open_places or [self.place])[0] if is_last else self.place + 1
        elif key == "I":
            self.record(dict.fromkeys(self.open_places, "irrelevant"))
        elif key == "w":
            self.record({"wrong": "" if self.mine.get("wrong") else "yes"})
        elif not self.open_places:
            self.record({"submitted": "yes"})


@pytest.fixture
def known(shelf: ServeSettings, tmp_path: Path) -> Iterator[Workbench]:
    """The same store, to look up the queue and the sentences."""
    opened = Workbench(replace(shelf, database=tmp_path / "other.db"))
    yield opened
    opened.close()


def test_the_database_holds_exactly_what_was_pressed(
    workbench: Served, known: Workbench, tmp_path: Path, sign_in: SignIn, request: pytest.FixtureRequest
) -> None:
    num, seed = request.config.getoption("--presses"), request.config.getoption("--presses-seed")
    rng = random.Random(seed)
    facts = {fact: known.fact_of(fact) for fact in known.queue(QueueSettings())}
    model = Pressed(list(facts), {fact: len(shown.texts) for fact, shown in facts.items() if shown})
    page = sign_in(workbench.url, "Ada")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("li.current")).to_be_focused()
    for _ in range(num):
        key = rng.choice("rrriiiuujkInnpszzwc")
        if not model.can_press(key):
            continue
        text = "".join(rng.choices("rinzspwu x", k=rng.randint(0, 6))) if key == "c" else ""
        model.press(key, text)
        page.keyboard.press(f"Shift+{key}" if key.isupper() else key)
        if key == "c":
            # The key before it may still be loading another fact; what is typed must go into the box.
            expect(page.locator("#comment")).to_be_focused()
            page.keyboard.press("Control+a")
            page.keyboard.press("Delete")
            page.keyboard.type(text)
            page.keyboard.press(rng.choice(["Escape", "Enter"]))
        time.sleep(rng.choice([0, 0, 0, 0, 0.002, 0.01, 0.03, 0.1]))

    def held() -> dict[Triple, Values]:
        with reading_from(tmp_path / "marks.db") as connection:
            row = connection.execute("SELECT id, name FROM annotator WHERE name = 'Ada'").fetchone()
            works = {fact: work_of(connection, Annotator(*row).id, fact) for fact in model.assigned}
        return {
            fact: {
                **{facts[fact].places[text]: label for text, label in work.labels.items()},
                "comment": work.comment,
                "wrong": "yes" if work.is_wrong else "",
                "submitted": "yes" if work.is_submitted else "",
            }
            for fact, work in works.items()
        }

    def wanted(values: dict[Triple, Values]) -> dict[Triple, Values]:
        return {fact: {name: value for name, value in each.items() if value} for fact, each in values.items()}

    until(lambda: wanted(held()) == wanted(model.values))
    time.sleep(0.5)
    assert wanted(held()) == wanted(model.values)
