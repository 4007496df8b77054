"""Which files, columns and cameras a training program asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corporeal.episode.recording import Dataset, Recording
from corporeal.errors import CorporealError, EpisodeError, UnknownNameError
from corporeal.exchange.formats import episodes
from corporeal.exchange.layout import ACTION, IMAGES, ColumnSpec, Layout, layout_of
from corporeal.exchange.plan import Plan


@dataclass(frozen=True)
class Request:
    """What the rows are to hold; None for what an export takes by default.

    `cameras` are names, `state` and `action` the streams that make them up, one after the other.
    """

    cameras: Sequence[str] | None = None
    state: Sequence[str] | None = None
    action: Sequence[str] | None = None
    rate_hz: float | None = None
    image_size: int | None = None
    mode: bool = False

    def layout(self, recording: Recording) -> Layout:
        """The layout of all episodes, as the first one suggests it."""
        return _with_action(layout_of(recording, self._plan(recording)), recording, self.action)

    def _plan(self, recording: Recording) -> Plan:
        specs = [signal.spec for signal in recording.signals.values()]
        films = {spec.name: spec.group for spec in specs if spec.kind == "video"}
        include: tuple[str, ...] = ()
        exclude: tuple[str, ...] = ()
        if self.cameras is not None:
            wanted = [name.removeprefix(IMAGES) for name in self.cameras]
            for name in wanted:
                if name not in films:
                    raise UnknownNameError("camera", name, films)
            include = tuple(name for name in wanted if films[name] == "debug")
            exclude = tuple(name for name in films if name not in wanted)
        return Plan(
            rate_hz=self.rate_hz,
            view="hierarchical" if self.mode else "flat",
            image_size=self.image_size,
            state=tuple(self.state or ()),
            include=include,
            exclude=exclude,
        )


def open_episodes(paths: Path | str | Sequence[Path | str]) -> list[Dataset]:
    """Episode files and folders of them; raises EpisodeError for a path that is neither."""
    given = [paths] if isinstance(paths, Path | str) else list(paths)
    if not given:
        raise CorporealError("dataset of no path; expected episode files or folders of them.")
    return [_opened(Path(path)) for path in given]


def _opened(path: Path) -> Dataset:
    if not path.exists():
        raise EpisodeError(f"{path}: does not exist. Give an episode file or a folder of them.")
    dataset = episodes.read(path)
    if not dataset.episodes:
        raise EpisodeError(
            f"{path}: no episode file (.h5) here. Turn datasets of other formats into episodes "
            "with corporeal import."
        )
    return dataset


def _with_action(layout: Layout, recording: Recording, names: Sequence[str] | None) -> Layout:
    """The layout with an action of these streams, one after the other."""
    if names is None:
        return layout
    known = {signal.spec.name: signal.spec for signal in recording.signals.values()
             if signal.spec.group == "actions" and signal.spec.kind == "array"}  # fmt: skip
    for name in names:
        if name not in known:
            raise UnknownNameError("stream of the action", name, known)
    spec = ColumnSpec(ACTION, tuple(known[name] for name in names))
    others = {key: each for key, each in layout.columns.items() if key != ACTION}
    return replace(layout, columns={**others, ACTION: spec})
