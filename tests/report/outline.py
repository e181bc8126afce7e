"""HTML as tests read it: well formed, and asked for its text."""

from html.parser import HTMLParser

VOID = {"meta", "br", "rect", "line", "circle", "path"}


class Outline(HTMLParser):
    """Checks that elements close in order, and keeps what was seen."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        #: The text between the tags of a heading, by its level.
        self.headings: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("h1", "h2", "h3"):
            self.headings.append((tag, ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        self.text += data
        if self.headings and self.headings[-1][0] in self.open:
            tag, before = self.headings[-1]
            self.headings[-1] = (tag, before + data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of every element of this kind."""
        return [attributes for name, attributes in self.tags if name == tag]


def outline(source: str) -> Outline:
    parser = Outline()
    parser.feed(source)
    parser.close()
    assert parser.open == []
    return parser
