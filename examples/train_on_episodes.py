"""Train a small policy on episode files as they were recorded, without converting them first."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader

from corporeal import EpisodeDataset

STEPS = 50


def main(path: Path, out: Path) -> None:
    """Learn the next 16 actions from the state and one small picture; print the loss."""
    torch.manual_seed(0)
    first = EpisodeDataset(path)
    camera = next(iter(first.layout.cameras))
    dataset = EpisodeDataset(
        path, chunk=16, cameras=[camera], image_size=64, normalisation="limits",
        columns=["observation.state", "action"],
    )  # fmt: skip
    loader = DataLoader(dataset, batch_size=32, sampler=dataset.sampler(num_samples=32 * STEPS))
    item = dataset[0]
    width, outputs = len(item["observation.state"]), item["action"].numel()
    eyes = nn.Sequential(nn.Conv2d(3, 16, 8, 8), nn.ReLU(), nn.Flatten(), nn.LazyLinear(64))
    head = nn.Sequential(nn.Linear(64 + width, 256), nn.ReLU(), nn.Linear(256, outputs))
    eyes(item[camera][None])
    optimiser = torch.optim.Adam([*eyes.parameters(), *head.parameters()], lr=1e-3)
    losses = []
    for batch in loader:
        seen = torch.cat([eyes(batch[camera]), batch["observation.state"]], dim=1)
        wanted = batch["action"]
        error = (head(seen).reshape(wanted.shape) - wanted).abs().mean(dim=2)
        loss = error[~batch["action_is_pad"]].mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    print(f"{len(dataset)} rows of {len(dataset.episodes)} episodes")
    print(f"loss {losses[0]:.3f} at first, {sum(losses[-5:]) / 5:.3f} at the end")
    # What a deployed policy needs: how to get radians back, and which joint is which.
    assert dataset.normalisation is not None
    dataset.normalisation.save(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
