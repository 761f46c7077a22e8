"""The site: `make docs` builds it without a warning, its links lead somewhere, and it is searched without a server."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Page, sync_playwright

from env.checkout import ROOT
from tests.support.tools import find_tool

SITE = ROOT / "build" / "site"
WIDE, PHONE = {"width": 1300, "height": 900}, {"width": 390, "height": 844}

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def site() -> Path:
    shutil.rmtree(SITE, ignore_errors=True)
    made = subprocess.run(["make", "docs"], cwd=ROOT, capture_output=True, text=True, timeout=500)
    assert made.returncode == 0, made.stdout + made.stderr
    assert "WARNING" not in made.stdout + made.stderr
    return SITE


@cache
def places(page: Path) -> frozenset[str]:
    """The anchors of a page of the site."""
    return frozenset(unescape(name) for name in re.findall(r'\sid="([^"]+)"', page.read_text()))


def links(page: Path) -> Iterator[str]:
    """The links and pictures of a page, but those of other hosts."""
    for link in re.findall(r'(?:href|src)="?([^"\s>]+)', page.read_text()):
        if not re.match(r"[a-z]+:", link):
            yield unquote(unescape(link))


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    pages = [page for page in site.rglob("*.html") if page.name != "404.html"]
    assert len(pages) > 30
    for page in pages:
        for link in links(page):
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            assert target.exists(), f"{page}: {link}"
            if anchor and not anchor.startswith("__"):
                assert anchor in places(target), f"{page}: {link}"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_links_of_the_checkout_are_links_of_the_site(site: Path, name: str) -> None:
    page = site / {"README.md": "index.html"}.get(name, name.replace(".md", ".html"))
    on_site = {(page.parent / link.partition("#")[0]).resolve() for link in links(page)}
    named = {link for link in re.findall(r"\]\(([^)\s#]+)", (ROOT / name).read_text()) if "://" not in link}
    assert named
    for link in named:
        path = link.removeprefix("docs/").replace("README.md", "index.md").replace(".md", ".html")
        assert {site / path, site / f"source/{path}.txt"} & on_site, link


def test_broken_link_outside_docs_fails_the_build(tmp_path: Path) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        if (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tmp_path / name)
    with (tmp_path / "CONTRIBUTING.md").open("a") as page:
        page.write("\n[nothing](docs/guides/nothing.md), [nowhere](docs/glossary.md#nowhere)\n")
    mkdocs = [str(ROOT / ".venv" / "bin" / "mkdocs"), "build", "--strict", "--config-file", "packaging/site/mkdocs.yml"]
    built = subprocess.run(mkdocs, cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert built.returncode != 0
    assert "guides/nothing.md" in built.stderr
    assert "#nowhere" in built.stderr


@pytest.fixture
def opened(site: Path) -> Iterator[Page]:
    """The first page, read from files; in the end the browser must not have asked another host nor complained."""
    asked, complaints = [], []
    with sync_playwright() as playwright:
        program = shutil.which("chromium-browser") or find_tool("chromium", "slow")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_context(offline=True, viewport=WIDE).new_page()
        page.set_default_timeout(60_000)
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto((site / "index.html").as_uri())
        yield page
        browser.close()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert complaints == []


def test_search_finds_pages_without_a_server(opened: Page) -> None:
    opened.locator(".md-search__input").fill("winning rate")
    opened.locator(".md-search-result__link", has_text="winning").first.wait_for()


@pytest.mark.parametrize("name", ["index", "results/results", "results/targets", "reference/python/lab"])
def test_page_is_no_wider_than_a_phone(opened: Page, site: Path, name: str) -> None:
    opened.set_viewport_size(PHONE)
    opened.goto((site / f"{name}.html").as_uri())
    assert opened.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
