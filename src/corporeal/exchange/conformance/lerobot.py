"""Reads a LeRobot dataset with LeRobot, v3.0 or v2.1 as the release knows it, or trains on it.

Training is a few steps of its own ACT and Diffusion Policy. Runs by itself.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np


def main(request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Answer a request: how policies trained, or episodes, statistics and the rows asked for."""
    answer: dict[str, Any] = {"library": "lerobot", "version": version()}
    if "policies" in request:
        answer["policies"] = {name: train(name, request) for name in request["policies"]}
        return answer, {}
    unsuited = unsuited_for(Path(request["path"]))
    if unsuited:
        return {"unsuited": unsuited}, {}
    dataset = open_dataset(Path(request["path"]))
    starts, lengths = bounds_of(dataset)
    episodes = [
        {
            "length": length,
            "instructions": [str(text) for text in dataset.meta.episodes[n]["tasks"]],
        }
        for n, length in enumerate(lengths)
    ]
    samples: dict[str, Any] = {}
    for place, (episode, row) in enumerate(request["rows"]):
        item = dataset[starts[episode] + row]
        got = int(item["episode_index"]), int(item["frame_index"])
        if got != (episode, row):
            raise ValueError(f"row {row} of episode {episode} is row {got[1]} of episode {got[0]}")
        for key in request["keys"]:
            if key in item:
                samples[f"{place}|{key}"] = np.asarray(item[key])
        for camera in request["cameras"]:
            if camera in item:
                samples[f"{place}|{camera}"] = picture(item[camera])
    answer |= {"episodes": episodes, "statistics": statistics(dataset.meta.stats)}
    return answer, samples


def unsuited_for(path: Path) -> str | None:
    """Why this release is not one for the dataset: each reads one major version of the layout."""
    reads = importlib.import_module("lerobot.datasets.lerobot_dataset").CODEBASE_VERSION
    stated = json.loads((path / "meta" / "info.json").read_text("utf-8"))["codebase_version"]
    if str(stated)[:2] == reads[:2]:
        return None
    return f"the dataset is {stated}, and lerobot {version()} reads {reads}"


def open_dataset(path: Path) -> Any:
    """The dataset as its users open it, from this folder and nowhere else."""
    module = importlib.import_module("lerobot.datasets.lerobot_dataset")
    try:
        return module.LeRobotDataset("local/dataset", root=path, video_backend=backend())
    except ConnectionError as error:
        raise FileNotFoundError(f"files of the dataset are missing ({error})") from error


def backend() -> str:
    """torchcodec where its native part loads, else PyAV."""
    try:
        importlib.import_module("torchcodec.decoders")
    except (ImportError, OSError, RuntimeError):
        return "pyav"
    return "torchcodec"


def bounds_of(dataset: Any) -> tuple[list[int], list[int]]:
    """The first row of every episode and its length, in the words of the release."""
    if hasattr(dataset, "episode_data_index"):
        first, stop = (dataset.episode_data_index[end].tolist() for end in ("from", "to"))
    else:
        first = list(dataset.meta.episodes["dataset_from_index"])
        stop = list(dataset.meta.episodes["dataset_to_index"])
    return first, [int(b) - int(a) for a, b in zip(first, stop, strict=True)]


def picture(tensor: Any) -> Any:
    """A picture (3, height, width) of 0 to 1 as people see it."""
    values = np.asarray(tensor, np.float32).transpose(1, 2, 0)
    return np.rint(values * 255).clip(0, 255).astype(np.uint8)


def statistics(stated: Any) -> dict[str, Any]:
    """What the policies would normalise with; booleans and counts as numbers."""
    return {
        label: {name: np.asarray(values, np.float64).tolist() for name, values in figures.items()}
        for label, figures in (stated or {}).items()
    }


def version() -> str:
    """The release."""
    return importlib.metadata.version("lerobot")


STATE, ACTION = "observation.state", "action"
# Small enough for seconds on a CPU; the networks are the library's, with little of everything.
SIZE = (72, 96)
ACT: dict[str, Any] = {
    "chunk_size": 16, "n_action_steps": 16, "dim_model": 128, "n_heads": 4, "dim_feedforward": 256,
    "n_encoder_layers": 2, "n_vae_encoder_layers": 2, "latent_dim": 8, "dropout": 0.0,
    "pretrained_backbone_weights": None,
}  # fmt: skip
DIFFUSION: dict[str, Any] = {
    "horizon": 16, "n_action_steps": 8, "n_obs_steps": 2, "down_dims": (64, 128), "n_groups": 8,
    "crop_shape": (64, 88), "pretrained_backbone_weights": None, "num_train_timesteps": 50,
    "num_inference_steps": 5, "spatial_softmax_num_keypoints": 16,
}  # fmt: skip
POLICIES = {"act": ("ACT", ACT), "diffusion": ("Diffusion", DIFFUSION)}
RATE = 1e-4
FEATURES = ("lerobot.utils.feature_utils", "lerobot.datasets.utils")


def train(name: str, request: dict[str, Any]) -> dict[str, Any]:
    """Steps on batches of the dataset, then one action predicted."""
    torch = importlib.import_module("torch")
    torch.manual_seed(request["seed"])
    module = importlib.import_module("lerobot.datasets.lerobot_dataset")
    path = Path(request["path"])
    meta = module.LeRobotDatasetMetadata("local/dataset", root=path)
    config = config_of(name, meta.features)
    dataset = module.LeRobotDataset(
        "local/dataset", root=path, episodes=request["episodes"],
        delta_timestamps=deltas(config, meta.fps), image_transforms=shrunk, video_backend=backend(),
    )  # fmt: skip
    policy, normalise, restore = policy_of(name, config, meta.stats)
    began = time.perf_counter()
    course, batch = learn(policy, normalise, restore, batches(dataset, request))
    action = predict(policy, normalise, restore, config, batch)
    return {
        **course,
        "seconds": time.perf_counter() - began,
        "parameters": sum(each.numel() for each in policy.parameters()),
        "frames": len(dataset),
        "action_shape": list(action.shape[1:]),
        "action_finite": bool(torch.isfinite(action).all()),
    }


def learn(
    policy: Any, normalise: Any, restore: Any, drawn: Iterator[Any]
) -> tuple[dict[str, Any], Any]:
    """One step of the optimiser on every batch; how it went, and the last batch."""
    torch = importlib.import_module("torch")
    losses, largest, first, before = [], 0.0, None, float("nan")
    optimiser = torch.optim.AdamW(policy.parameters(), lr=RATE)
    policy.train()
    for batch in drawn:
        ready = normalise(batch)
        given = ready if restore else batch
        if first is None:
            first, before = given, error_on(policy, given)
        loss, _ = policy.forward(given)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 10.0)
        optimiser.step()
        losses.append(float(loss.detach()))
        largest = max([largest, *(float(ready[key].abs().max()) for key in (STATE, ACTION))])
    course = {
        "losses": losses,
        "error_before": before,
        "error_after": error_on(policy, first),
        "largest": largest,
    }
    return course, batch


def error_on(policy: Any, batch: Any) -> float:
    """The error in the actions of one batch, with the same random numbers at every call."""
    torch = importlib.import_module("torch")
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        loss, parts = policy.forward(batch)
    return float((parts or {}).get("l1_loss", loss))


def config_of(name: str, features: dict[str, Any]) -> Any:
    """The policy's configuration: state, action and cameras of the dataset, in a small network."""
    label, options = POLICIES[name]
    known = policy_features(features)
    for feature in known.values():
        if feature.type.name == "VISUAL":
            feature.shape = (feature.shape[0], *SIZE)
    inputs = {key: feature for key, feature in known.items()
              if key == STATE or feature.type.name == "VISUAL"}  # fmt: skip
    module = importlib.import_module(f"lerobot.policies.{name}.configuration_{name}")
    return getattr(module, f"{label}Config")(
        input_features=inputs, output_features={ACTION: known[ACTION]}, device="cpu", **options
    )


def policy_features(features: dict[str, Any]) -> dict[str, Any]:
    """What the release makes of the dataset's features; its place has moved."""
    for place in FEATURES:
        try:
            module = importlib.import_module(place)
        except ModuleNotFoundError:
            continue
        if hasattr(module, "dataset_to_policy_features"):
            return dict(module.dataset_to_policy_features(features))
    raise ImportError(f"lerobot has no dataset_to_policy_features in {' or '.join(FEATURES)}")


def policy_of(name: str, config: Any, stats: Any) -> tuple[Any, Any, Any]:
    """The policy, what normalises a batch, and what turns its output into an action.

    Before 0.4 a policy normalises by itself: then the last one is None.
    """
    label = POLICIES[name][0]
    model = importlib.import_module(f"lerobot.policies.{name}.modeling_{name}")
    try:
        processor = importlib.import_module(f"lerobot.policies.{name}.processor_{name}")
    except ModuleNotFoundError:
        policy = getattr(model, f"{label}Policy")(config, dataset_stats=stats)
        return policy, lambda batch: policy.normalize_targets(policy.normalize_inputs(batch)), None
    make = getattr(processor, f"make_{name}_pre_post_processors")
    before, after = make(config, dataset_stats=stats)
    return getattr(model, f"{label}Policy")(config), before, after


def deltas(config: Any, fps: float) -> dict[str, list[float]]:
    """Which rows around the present one a sample holds, in seconds."""
    wanted = {ACTION: config.action_delta_indices}
    wanted |= dict.fromkeys(config.input_features, config.observation_delta_indices)
    return {key: [step / fps for step in steps] for key, steps in wanted.items() if steps}


def batches(dataset: Any, request: dict[str, Any]) -> Iterator[Any]:
    """As many batches as there are steps, in a random order that the seed decides."""
    torch = importlib.import_module("torch")
    order = torch.Generator().manual_seed(request["seed"])
    size, steps = min(request["batch"], len(dataset)), request["steps"]
    sampler = torch.utils.data.RandomSampler(
        dataset, replacement=True, num_samples=size * steps, generator=order
    )
    yield from torch.utils.data.DataLoader(dataset, batch_size=size, sampler=sampler)


def predict(policy: Any, normalise: Any, restore: Any, config: Any, batch: Any) -> Any:
    """The action (batch, width) for observations that it has seen, in the dataset's units."""
    policy.eval()
    policy.reset()
    several = config.observation_delta_indices is not None
    seen = {key: batch[key][:, -1] if several else batch[key] for key in config.input_features}
    if restore is None:
        return policy.select_action(seen)
    return restore(policy.select_action(normalise(seen)))


def shrunk(picture: Any) -> Any:
    """Pictures (..., 3, height, width) made small."""
    functional = importlib.import_module("torch.nn.functional")
    single = picture.ndim == 3
    small = functional.interpolate(picture[None] if single else picture, size=SIZE, mode="area")
    return small[0] if single else small
