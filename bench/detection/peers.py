"""Public checkers of LeRobot datasets on the same faulty sets, run as their users run them.

Each set has ten episodes of which one is bad, or one fault in its books. A checker flags the fault
if it says something of level warning or worse that it does not say of the clean set; it names the
fault if that has one of the words that describe it. Numbers are left out when texts are compared.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from bench.detection.fault import EpisodeSet, Fault, NotApplicable, Truth
from bench.detection.faults import every_fault
from bench.detection.harness import inspect_folder, judge
from bench.detection.lerobot_writer import Head, Version
from bench.detection.sources import Plan, open_set
from bench.detection.tables import ACTION, STATE, write_set
from bench.partners import partner_python, partner_versions
from corporeal.episode.recording import VideoFile
from corporeal.quality.check import Finding

EPISODES = 10
# Nothing in a LeRobot dataset says who demonstrated.
NOT_STORED = ("one_operator",)


@dataclass(frozen=True)
class Message:
    """One complaint of a checker: where it stands in its report, and what it says."""

    place: str
    text: str

    @property
    def pattern(self) -> str:
        """The text without its numbers, but for those of episodes and columns."""
        number = r"(?<!pisode )(?<!pisode)(?<!\[)(?<![\w.])[-+]?\d+(\.\d+)?(e[-+]?\d+)?"
        return f"{self.place}: {re.sub(number, '#', self.text)}"


@dataclass(frozen=True)
class Peer:
    """A public checker: the package, how it is called, and how its report is read."""

    package: str
    called: str
    run: Callable[[Path], list[Message]]


def _call(partner: str, program: str, *arguments: str | Path) -> str:
    command = [str(partner_python(partner).parent / program), *map(str, arguments)]
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    # Nothing may be asked of the net, and a checker must not colour its JSON.
    clean |= {"HF_HUB_OFFLINE": "1", "NO_COLOR": "1", "COLUMNS": "300"}
    done = subprocess.run(command, capture_output=True, text=True, env=clean, check=False)
    # They end with 1 or 2 when they find something: the report alone tells whether they ran.
    if not done.stdout.strip():
        raise NotApplicable(f"{program} ended with {done.returncode}: {done.stderr[-300:]}")
    return done.stdout


def _json(text: str) -> Any:
    """The JSON in an output that may begin with a greeting."""
    return json.loads(text[text.index("{") :])


def _lerobot_doctor(folder: Path) -> list[Message]:
    report = _json(_call("lerobot_doctor", "lerobot-doctor", "check", folder, "--json"))
    return [
        Message(check["name"], message["message"])
        for check in report["checks"]
        for message in check["messages"]
        if message["severity"] in ("WARN", "FAIL")
    ]


def _robovet(folder: Path) -> list[Message]:
    with tempfile.TemporaryDirectory() as place:
        out, scores = Path(place) / "doctor.json", Path(place) / "scores.csv"
        _call("robovet", "robovet", "doctor", folder, "--json", out)
        report = json.loads(out.read_text())
        _call("robovet", "robovet", "score", folder, "--csv", scores)
        rows = list(csv.DictReader(scores.open())) if scores.exists() else []
    found = [
        Message(each["check_id"], f"{each['title']}: {each['summary']} {each['details']}")
        for each in report["results"]
        if each["severity"] in ("WARN", "FAIL")
    ]
    for row in rows:
        for flag in filter(None, row["flags"].split("|")):
            # An episode's number is what tells a new flag from an old one.
            found.append(Message(f"score of episode {row['episode_index']} {flag}", flag))
    return found


def _trajlens(folder: Path) -> list[Message]:
    report = _json(_call("trajlens", "trajlens", "lint", folder, "--deep", "--json"))
    return [
        Message(each["check_id"], each["message"])
        for each in report["results"]
        if each["severity"] in ("WARN", "FAIL")
    ]


def _deepen(folder: Path) -> list[Message]:
    report = _json(_call("deepen_grade", "deepen", "grade", folder, "--json", "--quiet"))
    found = []
    for each in report["dataset_level_checks"]:
        if each["severity"] in ("warn", "fail"):
            found.append(Message(each["check_id"], f"{each['name']}: {each['summary']}"))
    for episode in report.get("episodes", []):
        for each in episode.get("checks", []):
            if each["severity"] in ("warn", "fail"):
                place = f"{each['check_id']} {episode.get('episode_id')}"
                found.append(Message(place, f"{each['name']}: {each['summary']}"))
    return found


PEERS: dict[str, Peer] = {
    "lerobot_doctor": Peer("lerobot-doctor", "lerobot-doctor check SET --json", _lerobot_doctor),
    "robovet": Peer("robovet", "robovet doctor SET, robovet score SET", _robovet),
    "trajlens": Peer("trajlens", "trajlens lint SET --deep --json", _trajlens),
    "deepen_grade": Peer("deepen-grade", "deepen grade SET --json", _deepen),
}

_TIME = r"timestamp|monoton|fps|frame rate|frequency|gap|drop|jitter|off.?grid|interval"
_JUMP = r"jump|spike|discontinu|teleport|outlier|jerk|velocity|speed"
_STUCK = r"froz|stuck|static|constant|idle|stall|identical|unchanged|zero variance"
_STATS = r"stat|mean|std|quantile|normali[sz]"
_BOOKS = r"length|count|index|total|mismatch|missing|disagree|bound|continu|resolve|not found|map"
_VIDEO = r"video|frame count|decode|mp4|pts|camera"
WORDS: dict[str, str] = {
    "reversed_stamp": _TIME, "repeated_stamp": _TIME, "gap": _TIME, "scattered_drops": _TIME,
    "wrong_rate": _TIME, "jitter": _TIME, "bursts": _TIME, "hidden_drops": f"drop|{_JUMP}",
    "stuttering": _STUCK, "late_action": "lag|delay|sync|latency|lead",
    "early_action": "lag|delay|sync|latency|lead", "late_camera": "lag|delay|sync|latency",
    "camera_drift": "lag|delay|sync|drift", "not_a_number": "nan|inf|finite",
    "beyond_limit": "limit|range|outlier|clip|saturat", "too_fast": _JUMP,
    "frozen_joint": _STUCK, "frozen_state": _STUCK, "spike": _JUMP, "teleport": _JUMP,
    "tremor": "tremor|vibrat|jerk|smooth|chatter|oscill|noise", "self_collision": "collision",
    "hand_too_fast": _JUMP, "encoder_offset": "offset|calib|bias|shift",
    "gripper_inverted": "gripper|invert|sign", "everything_constant": _STUCK,
    "black": "black|dark|degenerate|blank|expos", "frozen": f"{_STUCK}|duplicate",
    "over_exposed": "expos|bright|saturat|white", "under_exposed": "dark|expos|black",
    "blurred": "blur|sharp|focus", "covered": "cover|occlu|dark|block|blank",
    "cameras_swapped": "swap|exchang|viewpoint|camera", "viewpoint_moved": "view|moved|camera pose",
    "bumped": "view|moved|camera pose", "footage_short": _VIDEO, "movie_damaged": _VIDEO,
    "glitch": "glitch|corrupt|artefact|artifact|decode", "foreign_picture": "glitch|corrupt|decode",
    "upside_down": "upside|flip|orient|rotat|view", "colours_swapped": "colou?r|bgr|channel",
    "repeated_pictures": f"{_STUCK}|duplicate", "exact_duplicate": "duplicate|identical",
    "near_duplicate": "duplicate|similar", "idle_padding": "idle|stall|static|padding",
    "outlier_motion": "outlier|cluster|distribution|consisten|dissimilar",
    "placeholder_instruction": "task|language|instruction|description|placeholder",
    "one_operator": "operator",
}  # fmt: skip


def words_of(fault: Fault) -> str:
    """A pattern of the words that describe the fault."""
    if fault.name in WORDS:
        return WORDS[fault.name]
    if fault.name.startswith(("joints_swapped", "arms_swapped")):
        return "swap|exchang|order|permut|mirror|left.right"
    if fault.name.startswith("sign_flipped"):
        return "sign|flip|invert|mirror"
    if fault.name.startswith("degrees"):
        return "degree|radian|unit"
    if "statistics" in fault.name or fault.name.startswith("stored_"):
        return _STATS
    if fault.name == "fps_wrong":
        return _TIME
    if fault.name in ("task_dangling", "name_twice"):
        return "task|name|duplicate"
    return f"{_BOOKS}|{_VIDEO}" if fault.pictures else f"{_BOOKS}|shape|dimension|width"


@dataclass
class Contest:
    """One fault in one set: who flagged it and who named it. None where a checker gave up."""

    fault: str
    strength: float
    flagged: dict[str, bool | None] = field(default_factory=dict)
    named: dict[str, bool | None] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)


def contest(
    plan: Plan, names: Sequence[str], *, jobs: int = 2
) -> tuple[list[Contest], dict[str, list[str]]]:
    """Every fault that a LeRobot set can have, at tolerance and at its worst.

    The second is what each checker says of the clean set.
    """
    rounds = [
        (name, strength)
        for name in names
        if name not in NOT_STORED
        for strength in sorted({every_fault()[name].counted[0], every_fault()[name].counted[-1]})
    ]
    for name in PEERS:
        partner_python(name)
    with ProcessPoolExecutor(jobs, get_context("spawn"), _enter, (plan,)) as pool:
        fought = pool.map(_fight, rounds)
        contests = [each for each in fought if each is not None]
        clean = pool.submit(_said_of_clean).result()
    return contests, clean


_arena: list[_Arena] = []
"""The set of this process."""


def _enter(plan: Plan) -> None:
    source = open_set("filmed_table", plan)
    _arena.append(_Arena(replace(source, recordings=source.recordings[:EPISODES]), "v3.0"))


def _fight(planned: tuple[str, float]) -> Contest | None:
    name, strength = planned
    try:
        return _arena[0].fight(every_fault()[name], strength)
    except NotApplicable as reason:
        print(f"{name}: {reason}", file=sys.stderr)
        return None


def _said_of_clean() -> dict[str, list[str]]:
    said = _arena[0].clean(pictures=True)
    return {
        name: sorted({message.pattern for message in messages}) for name, messages in said.items()
    }


class _Arena:
    """The clean set, written once with and once without pictures, and what is said of it."""

    def __init__(self, whole: EpisodeSet, version: Version) -> None:
        self.whole, self.version = whole, version
        self._clean: dict[bool, dict[str, list[Message]]] = {}
        self._ours: dict[bool, tuple[Finding, ...]] = {}

    def fight(self, fault: Fault, strength: float) -> Contest:
        """Plant the fault, write the set, and ask everyone."""
        rng = np.random.default_rng([7, zlib.crc32(fault.name.encode())])
        pictures = fault.pictures
        clean = self.clean(pictures=pictures)
        result = Contest(fault.name, strength)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "set"
            truth = self._planted(fault, strength, rng, folder)
            self._ask_ourselves(result, fault, truth, folder)
            for name, peer in PEERS.items():
                try:
                    messages = peer.run(folder)
                except (NotApplicable, ValueError, KeyError) as error:
                    result.flagged[name] = result.named[name] = None
                    result.said[name] = str(error)[:200]
                    continue
                known = {message.pattern for message in clean[name]}
                new = [message for message in messages if message.pattern not in known]
                words = re.compile(words_of(fault), re.IGNORECASE)
                naming = [each for each in new if words.search(f"{each.place} {each.text}")]
                result.flagged[name], result.named[name] = bool(new), bool(naming)
                result.said[name] = (naming or new or [Message("", "")])[0].text[:200]
        return result

    def _planted(
        self, fault: Fault, strength: float, rng: np.random.Generator, folder: Path
    ) -> Truth:
        episodes = self.whole if fault.pictures else _without_pictures(self.whole)
        if fault.scope == "folder":
            self._write(folder, episodes)
            truth: Truth = fault.inject(folder, rng, strength)[1]
            return truth
        if fault.scope == "set":
            changed, truth = fault.inject(episodes, rng, strength)
            if changed.statistics is not episodes.statistics and changed.statistics:
                raise NotApplicable("not on disk")
        else:
            place = int(rng.integers(len(episodes.recordings)))
            faulty, truth = fault.inject(episodes.recordings[place], rng, strength)
            changed = episodes.with_recording(place, faulty)
            truth = replace(truth, episodes=(place,))
        self._write(folder, changed)
        return truth

    def _write(self, folder: Path, episodes: EpisodeSet) -> None:
        spec = self.whole.recordings[0].signals[STATE].spec
        names = spec.components if isinstance(spec.components, tuple) else ()
        head = Head(30.0, "unitree_g1", {STATE: names, ACTION: names})
        write_set(folder, head, episodes.recordings, version=self.version)

    def clean(self, *, pictures: bool) -> dict[str, list[Message]]:
        """What every peer says of the clean set."""
        if pictures not in self._clean:
            episodes = self.whole if pictures else _without_pictures(self.whole)
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place) / "set"
                self._write(folder, episodes)
                self._clean[pictures] = {name: peer.run(folder) for name, peer in PEERS.items()}
                self._ours[pictures] = inspect_folder(folder, pictures=pictures)
        return self._clean[pictures]

    def _ask_ourselves(self, result: Contest, fault: Fault, truth: Truth, folder: Path) -> None:
        found = inspect_folder(folder, pictures=fault.pictures)
        known = {(each.check, each.stream, each.episodes) for each in self._ours[fault.pictures]}
        wanted = set(truth.episodes)
        new = [
            each
            for each in found
            if (each.check, each.stream, each.episodes) not in known
            and (not wanted or not each.episodes or wanted & set(each.episodes))
        ]
        judged = judge(new, set(), truth, fault)
        result.flagged["ours"], result.named["ours"] = judged["detected"], judged["named"]
        result.said["ours"] = (judged["messages"] or ("",))[0][:200]


def _without_pictures(episodes: EpisodeSet) -> EpisodeSet:
    recordings = tuple(
        replace(
            each,
            signals={
                label: signal
                for label, signal in each.signals.items()
                if not isinstance(signal, VideoFile)
            },
        )
        for each in episodes.recordings
    )
    return replace(episodes, recordings=recordings, statistics={})


def versions() -> dict[str, str]:
    """Version of each peer as installed."""
    return {name: partner_versions(name)[peer.package] for name, peer in PEERS.items()}
