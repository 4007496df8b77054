"""Every finding of the checks on real sets, beside what a person judged of it in the raw data.

A judgement is of one check on one set, or on every set (*): true where the data has the fault,
false where it has not, null where the raw data does not tell, with the reason. `judged.json`
beside this file holds them; a finding that nobody judged is listed and counts for neither.

`--held-out` judges the sets that `bench.detection.held_out` fetches, too, `--page` writes the
section of docs/detection.md. `first_look.json` has what was said of those sets before anybody
looked at them, by the checks of that day, and what a person judged of it then.

python -m bench.detection.real ../shared/data --held-out DIR --page out/real.md
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from datetime import date
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.detection import held_out
from bench.detection.real_page import RealFinding, section
from bench.episode.report import machine
from corporeal.errors import CorporealError
from corporeal.interface import check

JUDGED = Path(__file__).with_name("judged.json")
_INTERBOTIX = "robot_logs/ros1_interbotix/interbotix_ros_xsarms/examples/interbotix_xsarm"
# A set, and the robot that its files do not name.
SETS: tuple[tuple[str, str | None], ...] = (
    ("lerobot/g1_inspire_v21_part", None),
    ("lerobot/gr1_picknplace_v20", None),
    ("lerobot/so101_v30", None),
    ("hdf5_rlds/rlds_bridge", None),
    ("hdf5_rlds/robomimic/robomimic_ph/dummy_data/lift_low_dim.hdf5", None),
    ("hdf5_rlds/robomimic/robomimic_mg/dummy_data/can_low_dim.hdf5", None),
    ("hdf5_rlds/robomimic/robomimic_mh/dummy_data/lift_image.hdf5", None),
    ("hdf5_rlds/robosuite_human/SawyerLift/demo.hdf5", None),
    ("hdf5_rlds/robosuite_human/BaxterPegInHole/demo.hdf5", None),
    ("retarget/asap_g1_23dof", None),
    ("retarget/isaaclab_amp", None),
    ("retarget/locomujoco", None),
    ("retarget/g1_csv_xyzw/dance_102/G1_Take_102.bvh_60hz.csv", "g1"),
    ("retarget/g1_csv_wxyz", "g1"),
    ("robot_logs/ros2_mcap_db3_pair/test_bag_mcap", None),
    ("robot_logs/ros2_mcap_db3_pair/test_bag_sqlite3", None),
    ("robot_logs/ros1_robot_localization/test1.bag", None),
    ("robot_logs/ros1_robot_localization/test2.bag", None),
    ("robot_logs/ros1_joint_states_burst_time/C-Shape-1_joints.bag", None),
    ("robot_logs/ros1_joint_states_burst_time/G-Shape-1_joints.bag", None),
    ("robot_logs/ros1_joint_states_burst_time/N-Shape-1_joints.bag", None),
    ("robot_logs/ros2_mcap_camera/soccer_goal", None),
    (f"{_INTERBOTIX}_puppet/bag/duck_dunk.bag", None),
    (f"{_INTERBOTIX}_diagnostic_tool/bag/waist_diagnostics.bag", None),
)


def main() -> int:
    """0, whatever was found: a benchmark is no test."""
    asked = _arguments()
    judged = {(row["set"], row["check"]): row for row in json.loads(JUDGED.read_text())}
    rows: list[RealFinding] = []
    episodes: dict[str, int] = {}
    console = Console()
    places = [(asked.data, name, robot) for name, robot in SETS]
    places += [(asked.held_out, name, None) for name in held_out.SETS] if asked.held_out else []
    for folder, name, robot in places:
        if asked.only and not any(part in name for part in asked.only.split(",")):
            continue
        try:
            episodes[name], found = _findings(folder / name, robot)
        except CorporealError as error:
            console.print(f"{name}: {error}", soft_wrap=True)
            continue
        rows += _judged(name, found, judged)
    _show(console, rows, episodes)
    if asked.page:
        asked.page.parent.mkdir(parents=True, exist_ok=True)
        asked.page.write_text(section(rows, episodes))
    if asked.json:
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        facts = {
            "date": date.today().isoformat(),
            "machine": machine(),
            "episodes": episodes,
            "findings": [asdict(r) for r in rows],
        }
        asked.json.write_text(json.dumps(facts, indent=1) + "\n")
    return 0


_Found = Counter[tuple[str, str, str]]
_Judgements = dict[tuple[str, str], dict[str, object]]


def _findings(path: Path, robot: str | None) -> tuple[int, _Found]:
    """How many episodes there are, and how often each check says what, notes too."""
    report = check(path, robot=robot)
    found: _Found = Counter()
    for episode in report.episodes:
        for finding in episode.assessment.findings:
            found[finding.check, str(finding.severity), finding.message] += 1
    for finding in report.batch.findings:
        found[finding.check, str(finding.severity), finding.message] += 1
    return len(report.episodes), found


def _judged(
    name: str,
    found: Counter[tuple[str, str, str]],
    judged: dict[tuple[str, str], dict[str, object]],
) -> Iterator[RealFinding]:
    for check_name, severity in sorted(
        {(check_name, severity) for check_name, severity, _ in found}
    ):
        sentences = {text: count for (one, grave, text), count in found.items()
                     if (one, grave) == (check_name, severity)}  # fmt: skip
        row = judged.get((name, check_name)) or judged.get(("*", check_name), {})
        truth = row.get("true")
        yield RealFinding(
            name, check_name, severity, sum(sentences.values()), next(iter(sentences)),
            truth if isinstance(truth, bool) else None, str(row.get("reason", "")),
        )  # fmt: skip


def _show(console: Console, rows: list[RealFinding], episodes: dict[str, int]) -> None:
    table = Table("set", "check", "severity", "findings", "judged", "why", "first sentence")
    for row in rows:
        verdict = {True: "true", False: "FALSE", None: "not judged"}[row.is_true]
        table.add_row(row.set, row.check, row.severity, str(row.findings), verdict, row.reason,
                      row.sentence[:120])  # fmt: skip
    console.print(table)
    total = sum(episodes.values())
    for what, some in (
        ("findings that count", [row for row in rows if row.severity != "note"]),
        ("notes", [row for row in rows if row.severity == "note"]),
    ):
        count = {truth: sum(row.findings for row in some if row.is_true is truth)
                 for truth in (True, False, None)}  # fmt: skip
        console.print(f"{what}: {count[True]} true, {count[False]} false, {count[None]} not judged")
    console.print(f"in {total} episodes of {len(episodes)} sets")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder of real sample data")
    parser.add_argument("--held-out", type=Path, help="the folder that held_out.py filled")
    parser.add_argument("--page", type=Path, help="where the section of the page is written")
    parser.add_argument("--only", help="sets whose names have one of these words, with commas")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
