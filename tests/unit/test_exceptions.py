"""The tree of exceptions: one root, the facts each one keeps, and a way through pickle."""

import copy
import pickle

import pytest

import mcp
from mcp import MCPDeprecationWarning, MCPError, types
from mcp.shared.exceptions import (
    ConnectionClosedError,
    HTTPResponseError,
    MalformedResultError,
    NoBackChannelError,
    ProcessExitedError,
    RequestTimeoutError,
    ServerNotFoundError,
    ServerStartError,
    TransportError,
    UrlElicitationRequiredError,
)

VISIT = types.ElicitRequestURLParams(message="Sign in", url="https://example.com/sign-in", elicitation_id="e1")

ERRORS: list[MCPError] = [
    MCPError(-32099, "no", {"why": [1]}),
    MCPError(-1, "no"),
    NoBackChannelError("elicitation/create"),
    UrlElicitationRequiredError([VISIT]),
    RequestTimeoutError("tools/call", 1.5),
    MalformedResultError("tools/call", "it is odd"),
    TransportError(-32000, "the wire is cut", {"where": "here"}),
    ConnectionClosedError(),
    ConnectionClosedError("Session ended"),
    ProcessExitedError("server --fast", 3, "last words"),
    ServerStartError("not executable"),
    ServerNotFoundError("no such program", "prog"),
    HTTPResponseError(-32603, "HTTP 503", status=503, headers={"retry-after": "1"}, body="closed"),
]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_every_error_is_an_mcp_error_with_code_message_and_data(error: MCPError) -> None:
    assert isinstance(error, MCPError)
    assert str(error) == error.message
    assert error.error == types.ErrorData(code=error.code, message=error.message, data=error.data)


@pytest.mark.parametrize("error", ERRORS, ids=repr)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_error_survives_pickle(error: MCPError, protocol: int) -> None:
    same = pickle.loads(pickle.dumps(error, protocol))
    assert type(same) is type(error)
    assert (same.code, same.message, same.data) == (error.code, error.message, error.data)
    assert str(same) == str(error)
    assert vars(same) == vars(error)


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_every_error_can_be_copied(error: MCPError) -> None:
    for same in (copy.copy(error), copy.deepcopy(error)):
        assert type(same) is type(error)
        assert (same.code, same.message, same.data) == (error.code, error.message, error.data)


def test_an_error_of_the_users_own_survives_pickle() -> None:
    error = OwnError(-5, "mine", [1])
    error.note = "kept"
    same = pickle.loads(pickle.dumps(error))
    assert type(same) is OwnError
    assert (same.code, same.message, same.data, same.note) == (-5, "mine", [1], "kept")


class OwnError(MCPError):
    note = ""


@pytest.mark.parametrize(
    ("child", "parents"),
    [
        (NoBackChannelError, [MCPError]),
        (UrlElicitationRequiredError, [MCPError]),
        (RequestTimeoutError, [MCPError]),
        (MalformedResultError, [MCPError]),
        (TransportError, [MCPError]),
        (ConnectionClosedError, [TransportError]),
        (ProcessExitedError, [ConnectionClosedError]),
        (ServerStartError, [TransportError]),
        (ServerNotFoundError, [ServerStartError, FileNotFoundError]),
        (HTTPResponseError, [TransportError]),
        (MCPError, [Exception]),
    ],
)
def test_the_tree(child: type[Exception], parents: list[type[Exception]]) -> None:
    assert list(child.__bases__) == parents


def test_the_root_is_exported_by_the_package() -> None:
    assert mcp.MCPError is MCPError
    assert mcp.UrlElicitationRequiredError is UrlElicitationRequiredError


# What each one says.


def test_an_error_without_data_has_none() -> None:
    error = MCPError(-5, "no")
    assert error.data is None
    assert error.error.model_dump(exclude_none=True) == {"code": -5, "message": "no"}
    assert error.args == (-5, "no", None)


def test_an_error_is_made_of_an_error_object_or_message() -> None:
    data = types.ErrorData(code=-5, message="no", data={"a": 1})
    for error in (
        MCPError.from_error_data(data),
        MCPError.from_jsonrpc_error(types.JSONRPCError(jsonrpc="2.0", id=1, error=data)),
    ):
        assert (error.code, error.message, error.data) == (-5, "no", {"a": 1})
        assert error.error == data


def test_no_back_channel() -> None:
    error = NoBackChannelError("elicitation/create")
    assert error.code == types.INVALID_REQUEST
    assert error.method == "elicitation/create"
    assert str(error) == (
        "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests."
    )


def test_a_url_to_visit() -> None:
    error = UrlElicitationRequiredError([VISIT])
    assert error.code == types.URL_ELICITATION_REQUIRED
    assert str(error) == "URL elicitation required"
    assert error.elicitations == [VISIT]
    assert error.data == {
        "elicitations": [
            {"mode": "url", "message": "Sign in", "url": "https://example.com/sign-in", "elicitationId": "e1"}
        ]
    }
    assert str(UrlElicitationRequiredError([VISIT, VISIT])) == "URL elicitations required"
    assert str(UrlElicitationRequiredError([VISIT], "Do sign in")) == "Do sign in"


def test_a_url_to_visit_is_read_from_an_error_object() -> None:
    sent = UrlElicitationRequiredError([VISIT], "Do sign in").error
    error = UrlElicitationRequiredError.from_error(sent)
    assert error.elicitations == [VISIT]
    assert str(error) == "Do sign in"
    empty = types.ErrorData(code=types.URL_ELICITATION_REQUIRED, message="Visit")
    assert UrlElicitationRequiredError.from_error(empty).elicitations == []
    with pytest.raises(ValueError, match="expected error code -32042, got -5"):
        UrlElicitationRequiredError.from_error(types.ErrorData(code=-5, message="no"))


@pytest.mark.parametrize(("seconds", "text"), [(1.5, "1.5s"), (30.0, "30s"), (0, "0s"), (0.001, "0.001s")])
def test_a_timeout_says_after_how_long(seconds: float, text: str) -> None:
    error = RequestTimeoutError("tools/call", seconds)
    assert str(error) == f"Timed out after {text} waiting for 'tools/call'"
    assert (error.code, error.method, error.seconds) == (types.REQUEST_TIMEOUT, "tools/call", seconds)


@pytest.mark.parametrize(
    ("method", "whose"),
    [
        ("tools/call", "The server's result"),
        ("elicitation/create", "The client's result"),
        ("sampling/createMessage", "The client's result"),
        ("roots/list", "The client's result"),
        ("ping", "The result"),
        ("acme/do", "The result"),
    ],
)
def test_a_malformed_result_says_whose_it_is(method: str, whose: str) -> None:
    assert str(MalformedResultError(method, "it is odd")) == f"{whose} for {method!r} does not fit: it is odd"


def test_a_malformed_result_says_what_is_wrong() -> None:
    error = MalformedResultError("tools/call", "it is odd")
    assert (error.code, error.method, error.problem) == (types.INTERNAL_ERROR, "tools/call", "it is odd")


def test_a_closed_connection() -> None:
    assert str(ConnectionClosedError()) == "Connection closed"
    assert ConnectionClosedError().code == types.CONNECTION_CLOSED


def test_a_process_that_ended_leaves_its_last_words() -> None:
    error = ProcessExitedError("server --fast", 3, "out of memory")
    assert str(error) == (
        "Connection closed: the server process 'server --fast' exited with code 3; "
        "the end of its stderr:\nout of memory"
    )
    assert (error.command, error.exit_code, error.stderr_tail) == ("server --fast", 3, "out of memory")
    assert str(ProcessExitedError("server", None)).endswith("exited with code None")


def test_a_server_that_is_not_there_is_a_missing_file_too() -> None:
    error = ServerNotFoundError("no such program", "prog")
    assert isinstance(error, FileNotFoundError)
    assert (error.errno, error.strerror, error.filename) == (2, "no such program", "prog")
    assert str(error) == "no such program"
    assert error.code == types.CONNECTION_CLOSED


def test_an_http_response_keeps_what_http_said() -> None:
    headers = {"retry-after": "1"}
    error = HTTPResponseError(-32603, "HTTP 503", status=503, headers=headers, body="closed")
    headers.clear()
    assert (error.code, error.status, error.headers, error.body) == (-32603, 503, {"retry-after": "1"}, "closed")


def test_a_deprecation_is_shown_by_default() -> None:
    assert issubclass(MCPDeprecationWarning, UserWarning)
    assert not issubclass(MCPDeprecationWarning, DeprecationWarning)
