"""`Request` and `Notification`: a method with its params, the bases of every whole message."""

from typing import Any, ClassVar, Generic, TypeVar

from mcp.types.base import MCPModel, NotificationParams, PaginatedRequestParams, RequestParams

RequestParamsT = TypeVar("RequestParamsT", bound=RequestParams | dict[str, Any] | None)
NotificationParamsT = TypeVar("NotificationParamsT", bound=NotificationParams | dict[str, Any] | None)
MethodT = TypeVar("MethodT", bound=str)


class _Envelope(MCPModel):
    """A generic model that is not compiled just because a class is made of it, which pydantic would do.

    The first model that is compiled costs a program more than all of these classes.
    """

    @classmethod
    def model_rebuild(cls, **how: Any) -> bool | None:
        """See pydantic's; nothing is done for a class that is about to be made of a generic one."""
        is_generic = bool(cls.__pydantic_generic_metadata__["parameters"])
        return None if is_generic and "_types_namespace" in how else super().model_rebuild(**how)


class Request(_Envelope, Generic[RequestParamsT, MethodT]):
    """A method and its params, to be answered.

    A method of your own is a subclass of `Request[YourParams, Literal["vendor/method"]]`. `name_param` is the
    wire name of the param that the `Mcp-Name` header repeats over HTTP, if one does.
    """

    name_param: ClassVar[str | None] = None

    method: MethodT
    params: RequestParamsT


class Notification(_Envelope, Generic[NotificationParamsT, MethodT]):
    """A method and its params, with no answer."""

    method: MethodT
    params: NotificationParamsT


class PaginatedRequest(Request[PaginatedRequestParams | None, MethodT], Generic[MethodT]):
    """Asks for one page of a listing."""

    params: PaginatedRequestParams | None = None
