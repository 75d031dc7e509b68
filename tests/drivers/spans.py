"""What has been exported, as plain values: by the processes of the test, and by programs that write it to a file."""

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import anyio
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult


@dataclass(frozen=True)
class Seen:
    """One finished span."""

    name: str
    kind: str
    trace: str
    id: str
    parent: str | None
    attributes: dict[str, Any]
    status: str
    description: str | None
    events: list[str]
    event_texts: list[str]
    scope: str | None

    @classmethod
    def of(cls, span: ReadableSpan) -> "Seen":
        context = span.get_span_context()
        assert context is not None
        return cls(
            span.name,
            span.kind.name,
            f"{context.trace_id:032x}",
            f"{context.span_id:016x}",
            f"{span.parent.span_id:016x}" if span.parent else None,
            dict(span.attributes or {}),
            span.status.status_code.name,
            span.status.description,
            [event.name for event in span.events],
            [str(value) for event in span.events for value in (event.attributes or {}).values()],
            span.instrumentation_scope and span.instrumentation_scope.name,
        )


class Spans(SpanExporter):
    """Keeps what is exported, in the order in which the spans ended."""

    def __init__(self) -> None:
        self.all: list[Seen] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.all += map(Seen.of, spans)
        return SpanExportResult.SUCCESS

    def named(self, name: str) -> Seen:
        (found,) = [span for span in self.all if span.name == name]
        return found

    async def until(self, name: str, kind: str = "SERVER") -> Seen:
        """Waits for a span that ends in another task or thread."""
        with anyio.fail_after(10):
            while True:
                for span in self.all:
                    if (span.name, span.kind) == (name, kind):
                        return span
                await anyio.sleep(0.002)


class Lines(SpanExporter):
    """Writes each span to a file, as a line of JSON."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        with self._path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(Seen.of(span))) + "\n" for span in spans)
        return SpanExportResult.SUCCESS


def read_lines(path: Path) -> list[Seen]:
    """What `Lines` wrote."""
    return [Seen(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def provider(exporter: SpanExporter) -> TracerProvider:
    """A provider that exports every span at once."""
    made = TracerProvider(shutdown_on_exit=False)
    made.add_span_processor(SimpleSpanProcessor(exporter))
    return made


@contextmanager
def installed(global_provider: trace.TracerProvider | None) -> Generator[None, None, None]:
    """Makes a provider the process's own for a while. The API allows it once only, and no way back."""
    before = trace._TRACER_PROVIDER
    trace._TRACER_PROVIDER = global_provider
    try:
        yield
    finally:
        trace._TRACER_PROVIDER = before
