"""`corporeal learn`: what good episodes of a task look like, second by second."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from rich.progress import track

from corporeal.cli.command import Command, argument, option
from corporeal.cli.output import AsJson, print_result, stderr
from corporeal.cli.sources import opener_of
from corporeal.episode.recording import Dataset, Recording
from corporeal.errors import CorporealError, NotAssessed
from corporeal.quality.anomaly import envelope
from corporeal.quality.anomaly import network as networks


def learn(
    paths: Annotated[list[Path], argument("Good episodes, or datasets with them.")],
    out: Annotated[Path, option("File for the detector.", "--out", "-o")] = Path("usual.npz"),
    network: Annotated[
        bool, option("Train a network: needs the extra train.", "--network")
    ] = False,
    pictures: Annotated[
        bool, option("Learn what the cameras see as well.", "--pictures/--no-pictures")
    ] = True,
    robot: Annotated[str | None, option("The robot, where the data does not say.")] = None,
    as_json: AsJson = False,
) -> None:
    """Learn from good episodes, so that check --usual finds the seconds that are unlike them.

    Failed demonstrations are left out. Without --network some ten episodes of one task are enough.

    Example: [bold]corporeal learn recordings --out usual.npz[/bold]
    """
    if out.suffix != ".npz":
        raise CorporealError(f"--out, got {out}; expected a name that ends in .npz.")
    with ExitStack() as stack:
        good = _successes(opener_of(paths, robot, stack)())
        try:
            if network:
                networks.train(good, pictures=pictures).save(out)
            else:
                envelope.learn(good, pictures=pictures).save(out)
        except NotAssessed as reason:
            raise CorporealError(f"nothing was learnt: {reason}.") from None
    sentence = f"learnt from {len(good)} episodes: {out}"
    after = f"next: corporeal check EPISODES --usual {out}"
    print_result(as_json, {"detector": out, "episodes": len(good)}, sentence, after)


def _successes(dataset: Dataset) -> list[Recording]:
    found = []
    for number in track(dataset.episodes, "reading", console=stderr(), transient=True):
        recording = dataset.open(number)
        if recording.facts.outcome.success is not False:
            found.append(recording)
    return found


COMMAND = Command(learn, panel="Quality")
