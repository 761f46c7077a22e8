"""A report's HTML, read and checked."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Checked(HTMLParser):
    """Fails on tags that do not match; collects ids, references, table headers and figures."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.scopes: list[str | None] = []
        self.alternatives: list[str] = []
        self.json: list[str] = []
        self.tables = self.captions = 0
        self._in_json = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [value] if (value := found.get("id")) else []
        self.links += [value for name in ("href", "src", "xlink:href") if (value := found.get(name))]
        self.tables += tag == "table"
        self.captions += tag == "caption"
        self._in_json = found.get("type") == "application/json"
        if tag == "th":
            self.scopes.append(found.get("scope"))
        if found.get("role") == "img":
            self.alternatives.append(found.get("aria-label") or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._in_json and data.strip():
            self.json.append(data)
