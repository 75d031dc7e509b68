"""Which values may come out of a URI."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Final

from mcp.shared.path_security import contains_path_traversal, is_absolute_path

__all__ = ["DEFAULT_RESOURCE_SECURITY", "ResourceSecurity", "ResourceSecurityError"]


class ResourceSecurityError(ValueError):
    """A URI fits a template, and gives a value that its `ResourceSecurity` refuses.

    Args:
        template: The template.
        param: The variable with that value.
    """

    def __init__(self, template: str, param: str) -> None:
        super().__init__(f"Parameter {param!r} of template {template!r} failed security validation")
        self.template = template
        self.param = param

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.template, self.param)


@dataclass(frozen=True)
class ResourceSecurity:
    """Which values a template hands to its function: a first filter, for values that might become paths.

    It looks at the values alone. `mcp.shared.path_security.safe_join` looks at the file system.

    Attributes:
        reject_path_traversal: Refuse `..` that climbs above where the value starts.
        reject_absolute_paths: Refuse paths that do not start from where they are joined to, on any system.
        reject_null_bytes: Refuse null bytes.
        exempt_params: Variables that are not looked at.
    """

    reject_path_traversal: bool = True
    reject_absolute_paths: bool = True
    reject_null_bytes: bool = True
    exempt_params: Set[str] = field(default_factory=frozenset[str])

    def validate(self, params: Mapping[str, str | list[str]]) -> str | None:
        """The first variable whose value, or one of whose values, is refused; None if all are fine.

        Args:
            params: The values, decoded.
        """
        for name, value in params.items():
            if name not in self.exempt_params and any(map(self._refuses, [value] if isinstance(value, str) else value)):
                return name
        return None

    def _refuses(self, value: str) -> bool:
        return (
            (self.reject_null_bytes and "\0" in value)
            or (self.reject_path_traversal and contains_path_traversal(value))
            or (self.reject_absolute_paths and is_absolute_path(value))
        )


DEFAULT_RESOURCE_SECURITY: Final = ResourceSecurity()
"""Everything is refused that could lead out of a directory."""
