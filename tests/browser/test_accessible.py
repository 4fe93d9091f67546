"""axe finds no serious problem on annotation and agreement pages, in light or dark mode."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from browser.annotating import expect_saved, go_by, open_fact, press
from running import Running

pytestmark = pytest.mark.slow

AXE = Path(__file__).parent / "vendor" / "axe.min.js"


def serious(page: Page) -> list[str]:
    """Return the findings that axe rates serious or critical."""
    page.evaluate(AXE.read_text())
    found: dict[str, Any] = page.evaluate("axe.run()")
    return [
        f"{page.url}: {each['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_finding(workbench: Running, sign_in, scheme: str) -> None:
    ada, ben = (sign_in(workbench.url, name, color_scheme=scheme) for name in ("Ada", "Ben"))
    findings = []
    for page, keys in ((ada, "riu"), (ben, "rrr")):
        open_fact(page, workbench.url, 1)
        press(page, keys)
        expect_saved(page)
        findings += serious(page)
        go_by(page, "n")
    open_fact(ada, workbench.url, 1)
    findings += serious(ada)
    ada.keyboard.press("?")
    findings += serious(ada)
    for address in (
        "/",
        "/people",
        "/annotate",
        "/annotate/queue",
        "/annotate/guideline",
        "/annotate/pilot",
        "/agreement",
        "/api",
        "/nowhere",
    ):
        ada.goto(workbench.url + address)
        findings += serious(ada)
    ada.goto(f"{workbench.url}/agreement/fact?bag=1&relation=capital")
    findings += serious(ada)
    ada.get_by_role("button", name="Sign out").click()
    ada.wait_for_url("**/sign-in")
    findings += serious(ada)
    assert findings == []
    sign_in.complaints[:] = [each for each in sign_in.complaints if "404 (Not Found)" not in each]
