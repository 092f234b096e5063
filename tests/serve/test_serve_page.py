"""The page in a real browser."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from oclgen.serve.settings import ServeSettings
from tests.serve.serving import serving

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE = 300_000.0
TOKEN = "a-long-enough-token"
pytestmark = pytest.mark.skipif(
    CHROMIUM is None and os.environ.get("CI") != "true", reason="there is no chromium to show the page in"
)
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert CHROMIUM is not None, "the page must be tested in CI: install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that may not reach anything but this machine and must not complain."""
    context = browser.new_context(viewport={"width": 390, "height": 800}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.extend([] if "//127.0.0.1:" in request.url else outside(request.url)))
    yield page
    context.close()
    assert complaints == []


def outside(address: str) -> list[str]:
    return [] if address.startswith(("data:", "blob:")) else [f"asked for {address}"]


def test_problems_are_told_and_a_plan_without_a_picture_is_a_list(page: Page, client: httpx.Client) -> None:
    page.goto(str(client.base_url))
    page.get_by_label("Beside it").select_option("")
    domain, problem = (page.get_by_role("textbox", name=name, exact=True) for name in ("Domain", "Problem"))
    domain.fill("d")
    problem.fill("fail 31 problem.pddl:7: <b>nonsense</b>")
    page.get_by_role("button", name="Solve").click()
    expect(page.get_by_role("alert")).to_have_text("problem.pddl:7: <b>nonsense</b>")
    problem.fill("plan 3\nplan 2\nsleep 600")
    page.get_by_role("button", name="Solve").click()
    expect(page.locator("#steps li")).to_have_count(2)
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".score.first .state")).to_contain_text("Cancelled")
    expect(page.locator("#picture")).to_be_hidden()


def test_the_page_asks_for_the_token(page: Page, tmp_path: Path) -> None:
    with serving(ServeSettings(data=tmp_path, token=TOKEN)) as client:
        page.goto(str(client.base_url))
        page.get_by_label("Token", exact=True).fill(TOKEN)
        page.get_by_role("button", name="Go on").click()
        expect(page.get_by_role("button", name="Sokoban")).to_be_visible()


def test_opened_files_find_their_place(page: Page, client: httpx.Client, tmp_path: Path) -> None:
    page.goto(str(client.base_url))
    for name, text in (("a.pddl", "(define (problem p))"), ("b.pddl", "(define (domain d))")):
        (tmp_path / name).write_text(text)
        page.get_by_label("Open a domain file").set_input_files(tmp_path / name)
    expect(page.get_by_role("textbox", name="Problem", exact=True)).to_have_value("(define (problem p))")
    expect(page.get_by_role("textbox", name="Domain", exact=True)).to_have_value("(define (domain d))")
