"""What becomes of a calibration: written where it is good, or where people say so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from corporeal.calibration.certainty import HalvesDifference
from corporeal.cli.command import option
from corporeal.cli.output import console

OutOption = Annotated[
    Path | None,
    option("The calibration document to write the result into; made where there is none.",
           "--out", "-o"),
]  # fmt: skip
ReportOption = Annotated[Path | None, option("A picture of the result: .png, .pdf or .svg.")]
NameOption = Annotated[str | None, option("What the result is of: the name of its stream.")]
KeepOption = Annotated[
    bool, option("Write the result into --out though it is not good.", "--keep-anyway")
]


@dataclass(frozen=True)
class Outcome:
    """Where a result goes: a document is as good as what was written into it last."""

    out: Path | None
    report: Path | None
    is_good: bool
    keep_anyway: bool

    @property
    def is_written(self) -> bool:
        """Whether the document is to have the result."""
        return self.out is not None and (self.is_good or self.keep_anyway)

    def values(self) -> dict[str, Any]:
        """The same for JSON."""
        return {"is_good": self.is_good, "is_written": self.is_written, "out": self.out,
                "report": self.report}  # fmt: skip

    def show(self) -> None:
        """Say what was written, and what was not."""
        if self.is_written:
            console().print(f"wrote {self.out}")
        elif self.out is not None:
            state = "as it was" if self.out.exists() else "unwritten"
            console().print(
                f"{self.out} stays {state}; --keep-anyway writes the result all the same",
                style="yellow",
            )
        if self.report is not None:
            console().print(f"wrote {self.report}")

    def end(self) -> None:
        """End the command with 1 where the result is not good."""
        if not self.is_good:
            raise typer.Exit(1)


def halves_values(halves: HalvesDifference | None) -> dict[str, Any] | None:
    """For JSON: how far halves of the pictures differ, and whether that is what they claim."""
    if halves is None:
        return None
    return {"difference_px": halves.mean_px, "claimed_px": halves.claimed_px,
            "in_order": halves.in_order, "is_explained": halves.is_explained}  # fmt: skip
