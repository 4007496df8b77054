"""An episode, open for reading: its streams, its metadata, the documents that govern it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from corporeal.embodiment import Embodiment
from corporeal.episode.alignment import Aligned, align
from corporeal.episode.file import layout
from corporeal.episode.file.byte_source import ByteSource
from corporeal.episode.file.digest import CONTENT
from corporeal.episode.file.storage import Storage, explained
from corporeal.episode.file.streams import READERS, StreamReader
from corporeal.errors import EpisodeError, UnknownNameError
from corporeal.notebook import html_table
from corporeal.schema import Schema, Stream
from corporeal.schema.stream import Method

T = TypeVar("T")
_STREAM_LIST = TypeAdapter(tuple[Stream, ...])


class Episode(Mapping[str, StreamReader]):
    """A mapping from `group/name` to the stream there; use it with `with`."""

    def __init__(self, place: Path | str | ByteSource) -> None:
        self._storage = Storage(Path(place) if isinstance(place, str) else place)
        self.path = self._storage.path
        self._readers: dict[str, StreamReader] = {}
        try:
            with explained(self.path):
                self._specs = self._read_root()
        except BaseException:  # Nobody else can free the file when there is no episode.
            self.close()
            raise

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open an episode file; nothing but its list of streams is read."""
        if Path(path).is_dir():
            raise EpisodeError(
                f"{path}, got a folder; expected the file of one episode. For all in it: corporeal "
                f"check {path}; in a workspace: corporeal ls -w {path}."
            )
        return cls(path)

    @classmethod
    def open_source(cls, source: ByteSource) -> Self:
        """Open an episode that lies elsewhere; only the ranges that are asked for are read."""
        return cls(source)

    def _read_root(self) -> dict[str, Stream]:
        attribute = self._storage.attribute
        if attribute("format", str) != layout.FORMAT:
            raise EpisodeError(
                f"{self.path}: an HDF5 file, but not an episode; expected the attribute "
                f"format = {layout.FORMAT!r}. Give a file that Corporeal wrote."
            )
        self.version: int = attribute("version", int) or 0
        if not 1 <= self.version <= layout.VERSION:
            raise EpisodeError(
                f"{self.path}: episode format version {self.version}; this Corporeal reads "
                f"1 to {layout.VERSION}. Update it: pip install -U corporeal."
            )
        listed = self._storage.json(layout.STREAMS)
        # Before they are looked at one by one: a million wrong entries make a million complaints.
        if isinstance(listed, list) and len(listed) > layout.MAX_STREAMS:
            raise EpisodeError(
                f"{self.path}: lists {len(listed)} streams; expected {layout.MAX_STREAMS} at most."
            )
        try:
            streams = _STREAM_LIST.validate_python(listed)
        except ValidationError as error:
            first = error.errors()[0]
            where = "/".join(map(str, first["loc"]))
            raise EpisodeError(
                f"{self.path}: {layout.STREAMS} is not a list of streams: {where}: {first['msg']}."
            ) from None
        for stream in streams:
            if "joints" in stream.shape:
                raise EpisodeError(f"{self.path}: {stream.path} does not say how many joints.")
        return {stream.path: stream for stream in streams}

    def __getitem__(self, path: str) -> StreamReader:
        if path not in self._readers:
            if path not in self._specs:
                raise UnknownNameError("stream", path, self._specs)
            spec = self._specs[path]
            self._readers[path] = READERS[spec.kind](self._storage, spec)
        return self._readers[path]

    def get(self, path: str, default: Any = None) -> Any:
        """The stream, or `default` when there is none of that name."""
        return self[path] if path in self._specs else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._specs)

    def __len__(self) -> int:
        return len(self._specs)

    def __contains__(self, path: object) -> bool:
        return path in self._specs

    def __repr__(self) -> str:
        return f"<Episode {self.path.name}: {self.robot}, {len(self)} streams>"

    def _repr_html_(self) -> str:
        """The episode as a notebook shows it: one row for each stream."""
        rows = (
            (path, stream.kind, "x".join(map(str, stream.shape)), stream.unit, len(stream_reader))
            for path, stream in self._specs.items()
            for stream_reader in (self[path],)
        )
        first_ns, last_ns = self.span_ns
        title = f"{self.path.name}: {self.robot or 'no robot'}, {(last_ns - first_ns) / 1e9:.1f} s"
        return html_table(title, ("stream", "kind", "shape", "unit", "samples"), rows, note=self.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the file; safe to call twice."""
        self._storage.close()

    @cached_property
    def id(self) -> str:
        """UUIDv7 of the episode."""
        return self._attribute("id", str) or ""

    @cached_property
    def epoch_ns(self) -> int:
        """Unix nanoseconds that all stamps count from."""
        return self._attribute("epoch_ns", int) or 0

    @cached_property
    def robot(self) -> str | None:
        """Name of the embodiment, if there is one."""
        return self._attribute("robot", str)

    @cached_property
    def recovered(self) -> str | None:
        """Why the recording is not complete; None when it is."""
        return self._attribute("recovered", str)

    @cached_property
    def content_hash(self) -> str:
        """`sha256:...` over everything in the file, as it states it."""
        return f"sha256:{self._attribute(CONTENT, str)}"

    def _attribute(self, name: str, kind: type[T]) -> T | None:
        with explained(self.path):
            found: T | None = self._storage.attribute(name, kind)
            return found

    @property
    def storage(self) -> Storage:
        """The file below the streams."""
        return self._storage

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """Operator, station, task, ...: what the episode says about itself."""
        with explained(self.path):
            fields = self._storage.json(layout.FIELDS)
            if not isinstance(fields, dict):
                raise EpisodeError(f"{self.path}: {layout.FIELDS} is not a JSON object.")
            return fields

    @cached_property
    def documents(self) -> dict[str, str]:
        """The embedded documents as text, by kind."""
        with explained(self.path):
            kinds = self._storage.names(layout.DOCUMENTS)
            return {kind: self._storage.text(f"{layout.DOCUMENTS}/{kind}") for kind in kinds}

    @cached_property
    def schema(self) -> Schema:
        """The schema the episode was recorded under."""
        return Schema.parse(self.document("schema"), source=f"{self.path}:schema", suffix=".json")

    @cached_property
    def embodiment(self) -> Embodiment:
        """The robot."""
        text = self.document("embodiment")
        return Embodiment.parse(text, source=f"{self.path}:embodiment", suffix=".json")

    @property
    def missing_streams(self) -> tuple[str, ...]:
        """Streams that the schema asks for and the episode does not have."""
        wanted = (stream for stream in self.schema.streams if not stream.optional)
        return tuple(stream.path for stream in wanted if stream.path not in self)

    @property
    def missing_metadata(self) -> tuple[str, ...]:
        """Metadata fields that the schema asks for and the episode leaves empty."""
        return tuple(name for name in self.schema.metadata if self.metadata.get(name) in (None, ""))

    @property
    def span_ns(self) -> tuple[int, int]:
        """First and last stamp of all streams."""
        stamps = [reader.time_ns for reader in map(self.__getitem__, self) if len(reader)]
        if not stamps:
            return 0, 0
        return min(int(times.min()) for times in stamps), max(int(times.max()) for times in stamps)

    def align(
        self,
        rate_hz: float,
        streams: list[str] | None = None,
        *,
        methods: Mapping[str, Method] | None = None,
        span_ns: tuple[int, int] | None = None,
        gap_periods: float = 2.5,
    ) -> Aligned:
        """Put streams on one grid; see `corporeal.episode.alignment.align`."""
        chosen = list(self) if streams is None else streams
        return align(
            {path: self[path] for path in chosen},
            rate_hz,
            methods=methods,
            span_ns=span_ns,
            gap_periods=gap_periods,
        )

    def document(self, kind: str) -> str:
        """An embedded document as text, checked against its hash."""
        if kind not in self.documents:
            raise UnknownNameError("document in this episode", kind, self.documents)
        text = self.documents[kind]
        with explained(self.path):
            stated = self._storage.attribute(f"{kind}_hash", str)
        actual = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
        if stated != actual:
            raise EpisodeError(f"{self.path}: the {kind} in it does not match its hash.")
        return text
