"""Finding the templates that a URI may be of, without trying each."""

from collections.abc import Iterator

from mcp.server.mcpserver.resources.templates import ResourceTemplate
from mcp.shared._uri_characters import canonical

__all__ = ["TemplateIndex"]


class TemplateIndex:
    """Templates by the literal that they begin with.

    A URI is looked up once for each length that such a literal has, however many templates there are.
    """

    def __init__(self) -> None:
        self._templates: dict[str, ResourceTemplate] = {}
        self._heads: dict[str, list[tuple[int, ResourceTemplate]]] = {}
        self._lengths: set[int] = set()
        self._next_place = 0

    def __iter__(self) -> Iterator[ResourceTemplate]:
        return iter(self._templates.values())

    def get(self, uri_template: str) -> ResourceTemplate | None:
        """The template with this text; None if there is none."""
        return self._templates.get(uri_template)

    def put(self, template: ResourceTemplate) -> None:
        """Adds a template behind all others, or in the place of the one with the same text."""
        text = template.uri_template
        head = _head(text)
        others = self._heads.setdefault(head, [])
        place = self._next_place
        if text in self._templates:
            place, _ = old = next(entry for entry in others if entry[1].uri_template == text)
            others.remove(old)
        others.append((place, template))
        self._next_place += 1
        self._templates[text] = template
        self._lengths.add(len(head))

    def remove(self, uri_template: str) -> None:
        """Removes the template with this text.

        Raises:
            KeyError: There is none.
        """
        del self._templates[uri_template]
        head = _head(uri_template)
        rest = [entry for entry in self._heads[head] if entry[1].uri_template != uri_template]
        if rest:
            self._heads[head] = rest
        else:
            del self._heads[head]
        self._lengths = {len(head) for head in self._heads}

    def candidates(self, uri: str) -> list[ResourceTemplate]:
        """The templates whose first literal the URI begins with, in the order in which they were added.

        Args:
            uri: Percent-encoded or not.
        """
        try:
            text = canonical(uri)
        except UnicodeEncodeError:
            return []
        found = [entry for length in self._lengths for entry in self._heads.get(text[:length], ())]
        return [template for _, template in sorted(found, key=lambda entry: entry[0])]


def _head(uri_template: str) -> str:
    return canonical(uri_template.partition("{")[0])
