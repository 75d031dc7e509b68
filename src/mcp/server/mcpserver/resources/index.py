"""Finding the templates that a URI may be of, without trying each."""

from mcp.server.mcpserver.resources.templates import ResourceTemplate
from mcp.shared._uri_characters import canonical

__all__ = ["TemplateIndex"]

_Entry = tuple[int, str, ResourceTemplate]
"""Its place among all, the text that it was added under, and a template."""


class TemplateIndex:
    """Templates by the literal that they begin with.

    A URI is looked up once for each length that such a literal has, however many templates there are. Only one thread
    at a time may change it; others may look things up meanwhile, since whatever they go through is replaced as a whole.
    """

    def __init__(self) -> None:
        self._templates: dict[str, ResourceTemplate] = {}
        self._heads: dict[str, tuple[_Entry, ...]] = {}
        self._lengths: frozenset[int] = frozenset()
        self._next_place = 0

    def all(self) -> dict[str, ResourceTemplate]:
        """All templates, by the texts that they were added under."""
        return self._templates.copy()

    def get(self, uri_template: str) -> ResourceTemplate | None:
        """The template with this text; None if there is none."""
        return self._templates.get(uri_template)

    def put(self, template: ResourceTemplate) -> None:
        """Adds a template behind all others, or in the place of the one with the same text."""
        text = template.uri_template
        head = _head(text)
        entries = self._heads.get(head, ())
        if text in self._templates:
            entries = tuple((place, key, template if key == text else other) for place, key, other in entries)
        else:
            entries = (*entries, (self._next_place, text, template))
            self._next_place += 1
        self._heads[head] = entries
        self._templates[text] = template
        self._lengths |= {len(head)}

    def remove(self, uri_template: str) -> None:
        """Removes the template with this text.

        Raises:
            KeyError: There is none.
        """
        del self._templates[uri_template]
        head = _head(uri_template)
        rest = tuple(entry for entry in self._heads[head] if entry[1] != uri_template)
        if rest:
            self._heads[head] = rest
        else:
            del self._heads[head]
            self._lengths = frozenset(map(len, self._heads))

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
        return [template for _, _, template in sorted(found, key=lambda entry: entry[0])]


def _head(uri_template: str) -> str:
    return canonical(uri_template.partition("{")[0])
