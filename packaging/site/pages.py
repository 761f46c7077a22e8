"""A hook of MkDocs: the site has the README as its first page, and what the pages link to outside of docs/.

A page outside of docs/, such as CONTRIBUTING.md, keeps its path in the checkout; README.md becomes index.md. Another
file, such as LICENSE, is a text file under source/. A relative link therefore works on the site exactly if it works in
the checkout: one that leads nowhere stays as it is, and MkDocs warns.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
ASSETS = [Path(__file__).with_name(name) for name in ("site.css", "iframe-worker.js")]
PICTURES = (".png", ".svg")
LINK = re.compile(r"(?<=\]\()([^)\s#]+)((?:#[^)\s]*)?)(?=\))")
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the README and what can be reached from it and from docs/."""
    for asset in ASSETS:
        files.append(File.generated(config, asset.name, abs_src_path=str(asset)))
    waiting = [ROOT / "README.md"]
    waiting += [Path(file.abs_src_path) for file in files.documentation_pages() if file.abs_src_path]
    seen = set(waiting)
    while waiting:
        source = waiting.pop()
        if not source.is_relative_to(DOCS):
            files.append(File.generated(config, site_path(source), abs_src_path=str(source)))
        if source.suffix != ".md":
            continue
        for target in targets(source):
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 (the hook's)
    """Write the links of a page anew, from its place on the site to that of their targets."""
    source = Path(page.file.abs_src_path or "")
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]  # which would be a column with nothing but this page
    begin = posixpath.dirname(page.file.src_uri)

    def moved(link: re.Match[str]) -> str:
        name, anchor = link.groups()
        target = resolved(source, name)
        if target is None:
            return link[0]
        return posixpath.relpath(site_path(target), begin or ".") + anchor

    parts, last = [], 0
    for code in CODE.finditer(markdown):
        parts += [LINK.sub(moved, markdown[last : code.start()]), code[0]]
        last = code.end()
    return "".join([*parts, LINK.sub(moved, markdown[last:])])


def site_path(source: Path) -> str:
    """Return the path below the site's folder of pages for a file of the checkout."""
    if source.is_relative_to(DOCS):
        return source.relative_to(DOCS).as_posix()
    path = source.relative_to(ROOT)
    if path.name == "README.md":
        return path.with_name("index.md").as_posix()
    if path.suffix in (".md", *PICTURES):
        return path.as_posix()
    return f"source/{path.as_posix()}.txt"


def targets(source: Path) -> Iterator[Path]:
    """The files of the checkout to which a page links."""
    for link in LINK.finditer(CODE.sub("", source.read_text())):
        target = resolved(source, link[1])
        if target is not None:
            yield target


def resolved(source: Path, link: str) -> Path | None:
    """Return the file of the checkout to which a page's link leads; a folder stands for its README.

    None for another host's page, and for a link that leads nowhere.
    """
    if ":" in link:
        return None
    target = (source.parent / link).resolve()
    if target.is_dir():
        target /= "README.md"
    return target if target.is_file() and target.is_relative_to(ROOT) else None
