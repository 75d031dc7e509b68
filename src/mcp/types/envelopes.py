"""`Request` and `Notification`: a method with its params, the bases of every whole message.

Pydantic compiles a generic model as soon as it is given parameters, so the areas that hold whole messages
cost far more to import than those with params and results, which is all that serving requests needs.
"""

from typing import Any, ClassVar, Generic, TypeVar

from mcp.types.base import MCPModel, NotificationParams, PaginatedRequestParams, RequestParams

RequestParamsT = TypeVar("RequestParamsT", bound=RequestParams | dict[str, Any] | None)
NotificationParamsT = TypeVar("NotificationParamsT", bound=NotificationParams | dict[str, Any] | None)
MethodT = TypeVar("MethodT", bound=str)


class Request(MCPModel, Generic[RequestParamsT, MethodT]):
    """A method and its params, to be answered.

    A method of your own is a subclass of `Request[YourParams, Literal["vendor/method"]]`. `name_param` is the
    wire name of the param that the `Mcp-Name` header repeats over HTTP, if one does.
    """

    name_param: ClassVar[str | None] = None

    method: MethodT
    params: RequestParamsT


class Notification(MCPModel, Generic[NotificationParamsT, MethodT]):
    """A method and its params, with no answer."""

    method: MethodT
    params: NotificationParamsT


class PaginatedRequest(Request[PaginatedRequestParams | None, MethodT], Generic[MethodT]):
    """Asks for one page of a listing."""

    params: PaginatedRequestParams | None = None
