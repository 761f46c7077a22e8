"""The report in a real browser: Chromium, without a network."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from compare.report import render_markdown, render_report
from tests.support.report import ENVIRONMENT, SCENARIOS, SCHEMES, comparison, made_store
from tests.support.tools import find_tool

PAGES = ["overview", *(f"scenario/{name}" for name in SCENARIOS), "environment"]
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 360, "height": 740}

Opened = Callable[..., Page]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = made_store(tmp_path_factory.mktemp("results"))
    store.write("report.md", render_markdown(comparison(store)).encode())
    return store.write("report.html", render_report(comparison(store)).encode())


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # the sandbox needs rights that a container does not have; what is opened here is our own file
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium-browser") or find_tool("chromium", "slow"), args=["--no-sandbox"]
        )
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser: Browser, report: Path) -> Iterator[Opened]:
    """Open the report at a page; in the end the browser must not have asked for anything nor complained."""
    contexts, requests, complaints = [], [], []

    def open_page(at: str = "", **options: Any) -> Page:
        context = browser.new_context(offline=True, **({"viewport": WIDE} | options))
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)  # the machine may have labs to run beside
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{report.as_uri()}#{at}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [url for url in requests if not url.startswith(report.as_uri())] == []
    assert complaints == []


def draw_all(page: Page) -> int:
    """Bring every figure of the page into view, wait until it is drawn, and return their number."""
    canvases = page.locator(".page.current .canvas")
    for index in range(canvases.count()):
        canvases.nth(index).scroll_into_view_if_needed()
        canvases.nth(index).locator(".main-svg").first.wait_for()
    return canvases.count()


def contrasts(page: Page) -> list[tuple[float, str]]:
    """Return the contrast (WCAG 2.2) of all text within figures against the page, and the text."""
    measured: list[list[Any]] = page.evaluate(
        """() => {
        const light = (text) => {
          const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255)
            .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const paper = light(getComputedStyle(document.body).backgroundColor);
        const texts = [...document.querySelectorAll(".page.current .main-svg text")];
        return texts.filter((t) => t.textContent.trim()).map((t) => {
          const ink = light(getComputedStyle(t).fill);
          return [(Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05), t.textContent];
        });
      }"""
    )
    return [(float(contrast), str(text)) for contrast, text in measured]


def turn_to(page: Page, at: str) -> None:
    """Show another page, as a link does."""
    page.evaluate("at => { location.hash = at; }", at)
    page.locator(f'.page.current[id="{at}"]').wait_for()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (360, "light"), (360, "dark")])
def test_every_page_fits_draws_and_is_legible(opened: Opened, tmp_path: Path, width: int, scheme: str) -> None:
    page = opened(viewport=WIDE if width == WIDE["width"] else NARROW, color_scheme=scheme)
    light = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]")
    assert (int(light) > 128) == (scheme == "light")
    for at in PAGES:
        turn_to(page, at)
        figures = draw_all(page)
        assert (figures >= 6) == at.startswith("scenario/")
        assert page.locator(".page:visible").count() == 1
        assert page.locator(".page.current .canvas .trace, .page.current .canvas .bars path").count() >= figures
        assert page.evaluate("document.documentElement.scrollWidth") <= width, at
        if figures:
            measured = contrasts(page)
            assert len(measured) > (20 if at.startswith("scenario/") else 10)
            assert min(measured) >= (4.5, ""), at
        picture = page.screenshot(path=tmp_path / f"{at.replace('/', '-')}.png", full_page=True)
        assert len(picture) > (50_000 if figures else 5_000)  # bytes: an empty one has fewer


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(opened: Opened, scheme: str) -> None:
    page = opened(color_scheme=scheme)
    for at in ("overview", "scenario/stress", "scenario/compete/cubic_1v1", "environment"):
        turn_to(page, at)
        draw_all(page)
        results = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]})
        assert results.violations_count == 0, f"{at}: {results.generate_report()}"


def test_a_wide_table_scrolls_in_its_own_box(opened: Opened) -> None:
    page = opened("scenario/stress", viewport=NARROW)
    box = page.get_by_role("region", name="Results of stress")
    before = box.locator("tbody tr").first.locator("td").last.bounding_box()
    assert before
    assert before["x"] > NARROW["width"]
    box.evaluate("element => element.scrollLeft = element.scrollWidth")
    after, row = box.locator("tbody tr").first.locator("td").last.bounding_box(), box.locator("th[scope=row]").first
    assert after
    assert after["x"] + after["width"] <= NARROW["width"]
    heading = row.bounding_box()
    assert heading
    assert heading["x"] >= 0  # the scheme's name stays


def test_pointing_at_an_instant_reads_all_values_there(opened: Opened) -> None:
    page = opened("scenario/stress")
    draw_all(page)
    figure = page.locator(".page.current figure", has=page.locator("[data-kind=timelines]"))
    canvas, output = figure.locator(".canvas"), figure.locator("output")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box
    page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 60)
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 60)
    page.wait_for_function("element => parseFloat(element.textContent) < 20", arg=output.element_handle())
    drawn: dict[str, Any] = canvas.evaluate(
        "element => ({x: element.data[0].x, y: element.data.map((t) => [t.meta, t.yaxis, t.y])})"
    )
    time_s = float(output.inner_text().split()[0])
    index = min(range(len(drawn["x"])), key=lambda i: abs(drawn["x"][i] - time_s))
    lines = {(scheme, axis or "y"): y for scheme, axis, y in drawn["y"]}
    for scheme in SCHEMES:
        shown = figure.locator(f"tr[data-scheme={scheme}] td").all_inner_texts()
        for text, axis in zip(shown, ("y", "y2", "y3"), strict=True):
            value = lines[scheme, axis][index]
            assert text == "–" if value is None else float(text.replace(",", "")) == pytest.approx(value, rel=0.006)
    line = canvas.evaluate("element => element.layout.shapes[0].x0")
    assert line == pytest.approx(time_s, abs=0.01)


def test_pointing_at_a_marker_says_what_it_is(opened: Opened) -> None:
    page = opened("scenario/stress")
    draw_all(page)
    first = page.locator(".page.current .canvas").first
    first.scroll_into_view_if_needed()
    first.locator(".points path").last.hover(force=True)
    label = first.locator(".hoverlayer .hovertext")
    label.wait_for()
    text = label.text_content() or ""
    assert "BBR" in text
    assert "Mbit/s at" in text


def test_schemes_can_be_hidden_and_shown_again(opened: Opened) -> None:
    page = opened("scenario/stress")
    draw_all(page)
    visible = "canvas => canvas.data.filter((t) => t.visible !== false).map((t) => t.meta)"
    canvases = page.locator(".page.current .canvas")
    button = page.get_by_role("group", name="Schemes in the figures").get_by_role("button", name="Cubic")
    for pressed, is_shown in (("false", False), ("true", True)):
        button.click()
        assert button.get_attribute("aria-pressed") == pressed
        assert {("cubic" in canvases.nth(i).evaluate(visible)) for i in range(canvases.count())} == {is_shown}
        assert page.locator(".readout tr[data-scheme=cubic]:visible").count() == int(is_shown)


def test_keyboard_reaches_scenario_table_and_figures(opened: Opened) -> None:
    page = opened()
    focused = "document.activeElement"
    page.keyboard.press("Tab")
    assert page.evaluate(f"{focused}.className") == "skip"
    assert page.locator(".skip").bounding_box()["x"] >= 0  # type: ignore[index]
    page.keyboard.press("Enter")
    assert page.evaluate(f"{focused}.id") == "overview-title"
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(f"{focused}.hash") == "#scenario/stress":
            break
    outline = page.evaluate(f"getComputedStyle({focused}).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    page.wait_for_function("document.title.startsWith('stress')")
    assert page.evaluate(f"{focused}.textContent") == "stress"
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(f"{focused}.getAttribute('aria-label') || {focused}.textContent"))
        if page.evaluate(f"{focused}.type") == "range":
            break
    assert "Results of stress" in reached
    assert any(name.startswith("Goodput") for name in reached)  # a column to sort by
    page.locator(".page.current .readout output").wait_for()
    before = page.locator(".page.current output").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator(".page.current output").inner_text() != before


def test_sorting_says_so_and_sorts(opened: Opened) -> None:
    page = opened("scenario/stress")
    table = page.get_by_role("table", name="Mean and 95 % interval")
    heading = table.get_by_role("columnheader", name="Goodput")
    for order in ("descending", "ascending"):
        heading.get_by_role("button").click()
        assert heading.get_attribute("aria-sort") == order
        shown = [
            float(v)
            for v in table.locator("tbody tr td:nth-child(2)").evaluate_all("c => c.map((d) => d.dataset.value)")
        ]
        assert shown == sorted(shown, reverse=order == "descending")
        assert len(set(shown)) == len(SCHEMES)


def test_back_and_forward_turn_the_pages(opened: Opened) -> None:
    page = opened()
    page.locator("#overview a[href='#scenario/compete/cubic_1v1']").first.click()
    page.wait_for_function("document.title.startsWith('compete/cubic_1v1')")
    page.get_by_role("link", name="compete/requests →").click()
    page.wait_for_function("document.title.startsWith('compete/requests')")
    page.go_back()
    page.wait_for_function("document.title.startsWith('compete/cubic_1v1')")
    page.go_back()
    page.wait_for_function("document.title.startsWith('Overview')")
    assert page.locator("#overview").is_visible()
    assert page.locator(".side a[aria-current=page]").inner_text() == "Overview"
    page.go_forward()
    page.wait_for_function("document.title.startsWith('compete/cubic_1v1')")


def test_the_accessibility_tree_names_tables_and_figures(opened: Opened) -> None:
    page = opened("scenario/stress")
    draw_all(page)
    tree = page.locator("main").aria_snapshot()
    assert 'heading "stress" [level=1]' in tree
    assert 'table "Mean and 95 % interval; the winners of each column are marked"' in tree
    assert 'rowheader "Cubic"' in tree
    assert 'columnheader "p95 RTT' in tree
    assert 'img "Goodput against p95 queueing delay, means; NDM ' in tree
    assert "slider" in tree
    assert page.get_by_role("navigation", name="Pages of this report").count() == 1


def test_tabs_of_the_headline_turn_by_arrow_keys(opened: Opened) -> None:
    page = opened()
    tabs = page.get_by_role("tablist").first.get_by_role("tab")
    tabs.first.focus()
    page.keyboard.press("ArrowRight")
    assert tabs.nth(1).get_attribute("aria-selected") == "true"
    panel = page.locator(f"#{tabs.nth(1).get_attribute('aria-controls')}")
    assert panel.is_visible()
    assert not page.locator(f"#{tabs.first.get_attribute('aria-controls')}").is_visible()


def test_light_and_dark_can_be_turned_by_hand(opened: Opened) -> None:
    page = opened("scenario/stress", color_scheme="light")
    draw_all(page)
    background = "getComputedStyle(document.body).backgroundColor"
    before, ink = page.evaluate(background), contrasts(page)
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate(background) != before
    assert min(contrasts(page)) >= (4.5, "")  # the figures went along
    assert len(contrasts(page)) == len(ink)
    assert page.get_by_role("button", name="Light").count() == 1  # what the button does now
    dark = opened("scenario/stress", color_scheme="dark")
    assert dark.get_by_role("button", name="Light").count() == 1
    assert dark.get_by_role("button", name="Dark").count() == 0


BLOCKED = """([how, address]) => new Promise((done) => {
  addEventListener("securitypolicyviolation", (event) => done(event.effectiveDirective));
  const added = document.createElement(how);
  if (how === "script" && !address) added.textContent = "window.ran = true";
  else if (how === "link") Object.assign(added, { rel: "stylesheet", href: address });
  else added[how === "form" ? "action" : "src"] = address;
  if (how === "form") { document.body.append(added); added.submit(); } else document.head.append(added);
  setTimeout(() => done("allowed"), 3000);
})"""


@pytest.mark.parametrize(
    ("how", "address", "directive"),
    [
        ("script", "", "script-src-elem"),
        ("script", "https://example.org/a.js", "script-src-elem"),
        ("img", "https://example.org/a.png", "img-src"),
        ("link", "https://example.org/a.css", "style-src-elem"),
        ("iframe", "https://example.org/", "frame-src"),
        ("form", "https://example.org/", "form-action"),
    ],
)
def test_browser_blocks_what_is_not_of_the_report(
    browser: Browser, report: Path, how: str, address: str, directive: str
) -> None:
    context = browser.new_context(offline=True)
    try:
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("requestfailed", lambda request: request.failure == "csp" and asked.remove(request.url))
        page.goto(report.as_uri())
        assert page.evaluate(BLOCKED, [how, address]) == directive
        assert not page.evaluate("window.ran")
        assert asked == [report.as_uri()]
    finally:
        context.close()


def test_overview_draws_the_figures_of_few_scenarios(opened: Opened) -> None:
    page = opened()
    assert draw_all(page) == 2  # of the two scenarios with several flows


def test_without_scripts_all_pages_follow_each_other(opened: Opened) -> None:
    page = opened(java_script_enabled=False)
    assert page.locator(".page:visible").count() == len(PAGES)
    assert page.locator("table:visible").count() >= 3 * len(SCENARIOS)
    assert page.locator(".alternative:visible", has_text="Goodput against p95 queueing delay, means; NDM").count() >= 1
    assert page.locator(".schemes:visible, .tabs:visible").count() == 0


def test_a_page_can_be_printed(opened: Opened, tmp_path: Path) -> None:
    page = opened("scenario/stress", color_scheme="dark")
    draw_all(page)
    page.emulate_media(media="print")
    assert not page.locator(".side").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.emulate_media(media="screen")
    printed = page.pdf(path=tmp_path / "page.pdf", format="A4")
    assert printed.count(b"/Type /Page\n") >= 1 or printed.count(b"/Type /Page") >= 2
    assert not page.evaluate("document.documentElement.dataset.theme")  # the screen is as it was


def test_the_environment_says_what_was_measured(opened: Opened) -> None:
    page = opened("environment")
    shown = page.locator("#environment").inner_text()
    assert ENVIRONMENT["command"] in shown
    modules = page.get_by_role("table", name="Modules").locator("tbody tr")
    assert modules.count() == 1
    assert "0123456789abcdef" * 4 in modules.inner_text()
    models = page.get_by_role("table", name="Models").locator("tbody tr")
    assert models.count() == 1
    assert "fedcba9876543210" * 4 in models.inner_text()


def test_failed_and_missing_runs_are_seen_at_once(opened: Opened) -> None:
    page = opened()
    summary = page.locator("#overview").inner_text()
    assert "1 failed" in summary
    assert "1 missing" in summary
    page.get_by_text("1 run missing").click()
    assert page.get_by_text("compete/requests, BBR: seed 4").is_visible()
    page.locator("#failed + .warning summary").click()
    assert page.get_by_text("LabError: the guest panicked").first.is_visible()
