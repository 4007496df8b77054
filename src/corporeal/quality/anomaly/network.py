"""Segments that are not like those of good episodes, by a conditional variational autoencoder.

What is felt during a window is encoded into a few numbers and decoded again, given what was asked,
the phase and the task (Sohn, Lee and Yan, 2015). Trained on good episodes only, it cannot say what
it never saw: where the decoded mean is many decoded deviations from what was felt, the window is
out of distribution. Training needs PyTorch (extra `train`); looking at episodes needs numpy alone.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from corporeal.array_file import read_npz
from corporeal.episode.recording import Recording
from corporeal.errors import CorporealError, MissingExtraError, NotAssessed
from corporeal.quality.anomaly.channels import LEAST_SPREADS, PHASES, Channels, channels_of
from corporeal.quality.anomaly.envelope import (
    CrossCheck,
    Envelope,
    UnusualSegment,
    read_head,
    sees_pictures,
    segments,
    steadied,
)
from corporeal.quality.subject import Subject
from corporeal.signal.track import Array
from corporeal.words import counted

# Samples in a window: 0.8 s.
WINDOW = 8
LEAST = 12
# Decoded deviations are kept within these, as logarithms of the variance.
LOG_VARIANCE = (-6.0, 4.0)
LAYERS = ("encoder", "code", "decoder", "decoded")


@dataclass(frozen=True, eq=False)
class NetworkShape:
    """What the network is fed with: channels, tasks, and how channels are scaled."""

    names: tuple[str, ...]
    asked_names: tuple[str, ...]
    tasks: tuple[str, ...]
    middle: Array
    spread: Array

    def windows(self, channels: Channels, task: str | None) -> tuple[Array, Array]:
        """What was felt (N, WINDOW * C), and what it is conditioned on (N, ...)."""
        values = np.concatenate((channels.felt, channels.asked), axis=1)
        known = (*channels.names, *channels.asked_names)
        wanted = (*self.names, *self.asked_names)
        absent = [name for name in wanted if name not in known]
        if absent:
            raise NotAssessed(f"the episode has no channel {absent[0]}, which the detector knows")
        scaled = (values[:, [known.index(name) for name in wanted]] - self.middle) / self.spread
        # Far values are drawn in, so that one of them does not drown the others.
        scaled = np.arcsinh(scaled)
        if len(scaled) < WINDOW:
            raise NotAssessed(f"the episode has {len(scaled)} samples; {WINDOW} make a window")
        views = sliding_window_view(scaled, WINDOW, axis=0)
        felt = views[:, : len(self.names)].reshape(len(views), -1)
        asked = views[:, len(self.names) :].reshape(len(views), -1)
        phase = np.eye(PHASES)[channels.phase[WINDOW - 1 :]]
        before = np.eye(PHASES)[channels.phase[: len(views)]]
        progress = channels.progress[WINDOW - 1 :, None]
        which = np.tile(np.array([float(task == one) for one in self.tasks]), (len(views), 1))
        return felt, np.concatenate((asked, phase, before, progress * phase, which), axis=1)


@dataclass(frozen=True, eq=False)
class NetworkDetector:
    """A trained network: `weights` by layer, and the limit of its score."""

    shape: NetworkShape
    weights: Mapping[str, Array]
    limit: float
    cross_check: CrossCheck | None = None

    def deviation(self, channels: Channels, task: str | None) -> Array:
        """How unlikely what was felt is at each moment (T,): mean squared decoded deviations."""
        felt, given = self.shape.windows(channels, task)
        mean, log_variance = self._decoded(felt, given)
        apart = np.square(felt - mean) / np.exp(log_variance)
        by_channel = apart.reshape(len(apart), -1, WINDOW).mean(axis=2)
        worst = np.sort(by_channel, axis=1)[:, -3:].mean(axis=1)
        # A window speaks for its middle.
        padded = np.pad(np.sqrt(worst), (WINDOW // 2, WINDOW - 1 - WINDOW // 2), mode="edge")
        return steadied(padded)

    def _decoded(self, felt: Array, given: Array) -> tuple[Array, Array]:
        hidden = np.tanh(self._layer("encoder", np.concatenate((felt, given), axis=1)))
        code = self._layer("code", hidden)
        code = code[:, : code.shape[1] // 2]
        hidden = np.tanh(self._layer("decoder", np.concatenate((code, given), axis=1)))
        decoded = self._layer("decoded", hidden)
        width = felt.shape[1]
        return decoded[:, :width], np.clip(decoded[:, width:], *LOG_VARIANCE)

    def _layer(self, name: str, values: Array) -> Array:
        return np.asarray(values @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"])

    def segments(self, recording: Recording) -> list[UnusualSegment]:
        """The segments that are out of distribution; none in a good episode."""
        return self.segments_of(Subject(recording))

    def segments_of(self, subject: Subject) -> list[UnusualSegment]:
        """The same of a subject, whose pictures are decoded once for all who look at them."""
        channels = channels_of(subject, pictures=sees_pictures(self.shape.names))
        return segments(channels, self.deviation(channels, subject.task) / self.limit)

    def save(self, path: Path | BinaryIO) -> None:
        """Write it as a .npz file without pickles."""
        shape = self.shape
        head = {"detector": "network", "limit": self.limit, "names": shape.names}
        head |= {"asked_names": shape.asked_names, "tasks": shape.tasks}
        scaling = {"middle": shape.middle, "spread": shape.spread}
        arrays: dict[str, Any] = {"head": np.array(json.dumps(head)), **scaling, **self.weights}
        np.savez(path, **arrays)

    @classmethod
    def load(cls, path: Path | BinaryIO) -> NetworkDetector:
        """Read what `save` wrote; raises CorporealError for what does not fit together."""
        arrays = read_npz(path)
        head = read_head(arrays, path, "a network")
        names, asked, tasks = (tuple(head[key]) for key in ("names", "asked_names", "tasks"))
        shape = NetworkShape(names, asked, tasks, arrays["middle"], arrays["spread"])
        weights = {
            f"{layer}.{part}": arrays[f"{layer}.{part}"]
            for layer in LAYERS
            for part in ("weight", "bias")
        }
        felt, given = WINDOW * len(names), WINDOW * len(asked) + 3 * PHASES + len(tasks)
        wide = {name: array.shape for name, array in weights.items()}
        hidden, codes = (len(weights[f"{layer}.bias"]) for layer in ("encoder", "code"))
        layers = {
            "encoder": (hidden, felt + given),
            "code": (codes, hidden),
            "decoder": (hidden, codes // 2 + given),
            "decoded": (2 * felt, hidden),
        }
        scales = (len(names) + len(asked),)
        if not shape.middle.shape == shape.spread.shape == scales or any(
            wide[f"{layer}.weight"] != size or wide[f"{layer}.bias"] != size[:1]
            for layer, size in layers.items()
        ):
            raise CorporealError(
                f"{path}: layers of a network, got {wide}; expected {layers}. Learn it again."
            )
        return cls(shape, weights, float(head["limit"]))


def train(
    recordings: Iterable[Recording],
    *,
    epochs: int = 80,
    latent: int = 6,
    hidden: int = 96,
    seed: int = 0,
    margin: float = 1.3,
    pictures: bool = False,
) -> NetworkDetector:
    """Train on good episodes, of one task or several.

    A fifth of them is kept back; the limit is `margin` times what all but the worst twentieth of
    those reach at their worst moment.
    """
    episodes = []
    for recording in recordings:
        subject = Subject(recording)
        episodes.append((channels_of(subject, pictures=pictures), subject.task))
    return trained(episodes, epochs=epochs, latent=latent, hidden=hidden, seed=seed, margin=margin)


def trained(
    episodes: Sequence[tuple[Channels, str | None]],
    *,
    epochs: int = 80,
    latent: int = 6,
    hidden: int = 96,
    seed: int = 0,
    margin: float = 1.3,
) -> NetworkDetector:
    """The same from channels and tasks."""
    if len(episodes) < LEAST:
        raise NotAssessed(f"{counted(len(episodes), 'good episode')}; {LEAST} are needed to train")
    kept = [n for n in range(len(episodes)) if n % 5 == 4]
    taught = [each for n, each in enumerate(episodes) if n not in kept]
    shape = _shape(taught)
    pairs = [shape.windows(channels, task) for channels, task in taught]
    felt, given = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    weights = _fit(felt, given, epochs=epochs, latent=latent, hidden=hidden, seed=seed)
    rough = NetworkDetector(shape, weights, 1.0)
    worst = [float(rough.deviation(*episodes[number]).max()) for number in kept]
    return NetworkDetector(shape, weights, margin * float(np.quantile(worst, 0.95)))


def _shape(episodes: Sequence[tuple[Channels, str | None]]) -> NetworkShape:
    first = episodes[0][0]
    names, asked = (
        tuple(name for name in own if all(name in getattr(each, key) for each, _ in episodes))
        for own, key in ((first.names, "names"), (first.asked_names, "asked_names"))
    )
    columns = []
    for channels, _ in episodes:
        values = np.concatenate((channels.felt, channels.asked), axis=1)
        known = (*channels.names, *channels.asked_names)
        columns.append(values[:, [known.index(name) for name in (*names, *asked)]])
    table = np.concatenate(columns)
    low, middle, high = np.quantile(table, [0.05, 0.5, 0.95], axis=0)
    tasks = tuple(sorted({task for _, task in episodes if task is not None}))
    least = [LEAST_SPREADS.get(name, 1e-6) for name in (*names, *asked)]
    return NetworkShape(names, asked, tasks, middle, np.maximum((high - low) / 3.0, least))


def _fit(
    felt: Array, given: Array, *, epochs: int, latent: int, hidden: int, seed: int
) -> dict[str, Array]:
    torch = _torch()
    torch.manual_seed(seed)
    x, c = (torch.tensor(values, dtype=torch.float32) for values in (felt, given))
    sizes = {
        "encoder": (x.shape[1] + c.shape[1], hidden),
        "code": (hidden, 2 * latent),
        "decoder": (latent + c.shape[1], hidden),
        "decoded": (hidden, 2 * x.shape[1]),
    }
    net = torch.nn.ModuleDict({name: torch.nn.Linear(*size) for name, size in sizes.items()})
    optimiser = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-3)
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
    for _ in range(epochs):
        for batch in torch.randperm(len(x)).split(256):
            loss = _loss(torch, net, x[batch], c[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        rate.step()
    return {
        name: value.detach().numpy().astype(np.float64) for name, value in net.state_dict().items()
    }


def _loss(torch: Any, net: Any, x: Any, c: Any) -> Any:
    """Minus the evidence lower bound, per value."""
    noisy = x + 0.05 * torch.randn_like(x)
    code = net["code"](torch.tanh(net["encoder"](torch.cat((noisy, c), 1))))
    mean, log_variance = code.chunk(2, dim=1)
    drawn = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
    decoded = net["decoded"](torch.tanh(net["decoder"](torch.cat((drawn, c), 1))))
    guess, spread = decoded.chunk(2, dim=1)
    spread = spread.clamp(*LOG_VARIANCE)
    misfit = 0.5 * ((x - guess) ** 2 / spread.exp() + spread).sum(dim=1)
    divergence = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(dim=1)
    return (misfit + divergence).mean() / x.shape[1]


def _torch() -> Any:
    try:
        return import_module("torch")
    except ImportError as error:
        raise MissingExtraError("torch", "train") from error


class AnomalyDetector(Protocol):
    """Learnt from good episodes, it says which stretches of another are not like them."""

    @property
    def cross_check(self) -> CrossCheck | None:
        """What it learnt from, and how it judges that; None where it does not say."""

    def segments(self, recording: Recording) -> list[UnusualSegment]:
        """The stretches that are not as usual."""

    def segments_of(self, subject: Subject) -> list[UnusualSegment]:
        """The same of a subject that others look at as well."""

    def save(self, path: Path | BinaryIO) -> None:
        """Write it as a file."""


def pack_detector(detector: AnomalyDetector) -> bytes:
    """The detector as bytes, as `save` writes them."""
    packed = io.BytesIO()
    detector.save(packed)
    return packed.getvalue()


def unpack_detector(packed: bytes, name: str) -> AnomalyDetector:
    """Read what `pack_detector` made; errors call it by its name."""
    return _read(io.BytesIO(packed), name)


def open_detector(path: Path) -> AnomalyDetector:
    """Read what a detector's `save` wrote."""
    if not path.exists():
        raise CorporealError(f"{path} does not exist; make it with: corporeal learn.")
    return _read(path, str(path))


def _read(source: Path | BinaryIO, name: str) -> AnomalyDetector:
    try:
        kind = json.loads(str(read_npz(source, ("head",), where=name)["head"]))["detector"]
        if not isinstance(source, Path):
            source.seek(0)
        return NetworkDetector.load(source) if kind == "network" else Envelope.load(source)
    except (CorporealError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorporealError(
            f"{name} is not a detector ({error}); expected a file that corporeal learn wrote."
        ) from None
