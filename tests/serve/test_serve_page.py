"""The page in a real browser."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from oclgen.domains import catalog
from oclgen.serve.jobs import pictures
from oclgen.serve.settings import ServeSettings
from tests.serve.serving import serving, submit

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


def test_a_problem_is_solved_watched_played_downloaded_and_linked(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "SECONDS", PATIENCE / 1000)
    spec = catalog.load("blocksworld")
    problem = catalog.draw(spec, 3, 0, catalog.overrides(spec, ["blocks=4"])).text
    with serving(ServeSettings(data=tmp_path, workers=2)) as client:
        page.goto(str(client.base_url))
        page.get_by_role("button", name="Blocksworld").click()
        expect(page.get_by_role("textbox", name="Domain", exact=True)).to_have_value(re.compile("define"))
        page.get_by_role("textbox", name="Problem", exact=True).fill(problem)
        page.get_by_label("Method").select_option("bfs")
        page.get_by_label("Beside it").select_option("lama-first")
        page.get_by_label("Seconds").fill("250")
        page.get_by_role("button", name="Solve").press("Enter")

        expect(page.locator(".score.first .state")).to_contain_text("proved optimal")
        expect(page.locator(".score.second b")).to_contain_text("step")
        expect(page.get_by_role("button", name="Stop")).to_be_hidden()
        steps = page.get_by_role("list", name="Steps of the plan").get_by_role("listitem")
        length = steps.count()
        expect(page.locator(".score.first b")).to_have_text(f"{length} steps")
        assert f"breadth-first search: {length} after" in (page.locator("#chart").get_attribute("aria-label") or "")

        slider = page.get_by_label("Step of the plan")
        expect(slider).to_be_visible()
        slider.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        expect(page.locator("#steps [aria-current=step]")).to_have_text(steps.nth(1).inner_text())
        held = page.locator("#stage .block.home").count()
        page.keyboard.press("End")
        expect(page.locator("#stage .block.home")).not_to_have_count(held)

        with page.expect_download() as download:
            page.get_by_role("button", name="Download").click()
        assert download.value.path().read_text().endswith(f"; cost = {length} (unit cost)\n")

        width = page.evaluate("() => document.documentElement.scrollWidth")
        assert width <= 390, "the page is wider than a phone"
        page.goto(page.url)
        expect(page.locator(".score.first b")).to_have_text(f"{length} steps")
        expect(page.get_by_role("textbox", name="Problem", exact=True)).to_have_value(problem)


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


def test_the_best_available_method_is_the_default_and_is_named_when_it_has_ended(
    page: Page, client: httpx.Client
) -> None:
    page.goto(str(client.base_url))
    method, beside = page.get_by_label("Method"), page.get_by_label("Beside it")
    expect(method.locator("option:checked")).to_have_text("best available")
    expect(beside.locator("option:checked")).to_have_text("LAMA")
    page.get_by_role("textbox", name="Domain", exact=True).fill("d")
    page.get_by_role("textbox", name="Problem", exact=True).fill("plan 3\nplan 2\nend exhausted 0 lama")
    before = submit(client, "sleep 600", time_limit=60)  # keeps the only worker busy
    page.get_by_role("button", name="Solve").click()
    ours, theirs = (page.locator(f".score.{place} .name") for place in ("first", "second"))
    expect(ours).to_have_text("best available")
    client.delete(f"/api/jobs/{before}")
    expect(ours).to_have_text("best available: LAMA")
    expect(theirs).to_have_text("LAMA")
    expect(page.get_by_role("heading", name="Plan of LAMA, 2 steps")).to_be_visible()
    expect(page.locator("#chart g.first text")).to_have_text("LAMA 2")
    page.goto(page.url)
    expect(ours).to_have_text("best available: LAMA")
    expect(method.locator("option:checked")).to_have_text("best available")
    expect(beside.locator("option:checked")).to_have_text("LAMA")


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
