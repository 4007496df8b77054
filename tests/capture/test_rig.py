"""Several sources make one episode, each with its own clock, under the team's documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.capture.small_rig import ARM, BEGIN_NS, SECOND_NS, Options, in_order, mark, samples

from corporeal.capture.driver import Driver, DriverError, Mark, RecordingSource, Rig, Sample
from corporeal.capture.health import Health
from corporeal.capture.recorder import Recorder, RecorderSettings
from corporeal.capture.rig import RigDocument, TeamDocuments, join_sources, open_rig
from corporeal.episode import Episode
from corporeal.episode.facts import read_facts
from corporeal.episode.overview import verify
from corporeal.errors import CorporealError, DocumentError
from corporeal.protocol import Calibration, open_protocol
from corporeal.schema import Schema

pytestmark = pytest.mark.usefixtures("no_thread_is_left")
GLOVE = "observations/glove"
_GLOVE_SCHEMA = {
    "document": "schema", "name": "glove", "version": "1.0.0",
    "streams": [{"name": "glove", "group": "observations", "shape": [2], "rate_hz": 50}],
}  # fmt: skip
Read = Callable[[], Iterator[Sample | Mark]]


def _glove(seconds: float, *, ahead_ns: int = 0, ppm: float = 0.0, breaks_s: float = 1e9) -> Read:
    """A second device: the same moments as the small rig, stamped by a clock of its own."""

    def read() -> Iterator[Sample | Mark]:
        for number in range(round(seconds * 50)):
            true_ns = round(number / 50 * SECOND_NS)
            if true_ns > breaks_s * SECOND_NS:
                raise OSError("glove unplugged")
            stamp = ahead_ns + true_ns + round(true_ns * ppm * 1e-6)
            arrival = BEGIN_NS + true_ns + 1_000_000
            yield Sample(GLOVE, stamp, arrival, np.full(2, number, np.float32))

    return read


def _glove_source(read: Read, **more: Any) -> RecordingSource:
    rig = Rig(Schema.model_validate(_GLOVE_SCHEMA))
    driver = Driver(Options, lambda _: rig, lambda _: read())
    return RecordingSource("glove", driver, Options(), **more)


@pytest.fixture
def body(make_driver: Callable[..., Driver]) -> RecordingSource:
    items = in_order(*samples(8.0), mark("start", 1.5, task="reach"), mark("end", 5.0))
    return RecordingSource("body", make_driver(lambda: iter(items)), Options())


def _settings(folder: Path, **more: Any) -> RecorderSettings:
    facts = {"task": "t", "session": "s", **more}
    return RecorderSettings(folder / "out", metadata=facts)


def test_a_second_source_is_put_onto_the_first_ones_time(
    body: RecordingSource, tmp_path: Path
) -> None:
    glove = _glove_source(_glove(8.0, ahead_ns=80_000_000, ppm=50.0))
    (path,) = Recorder([body, glove], _settings(tmp_path)).run()
    assert verify(path) == ()
    with Episode.open(path) as episode:
        clocks = episode.metadata["clocks"]
        assert set(clocks) == {"robot", "glove"}
        assert clocks["glove"]["drift_ppm"] == pytest.approx(-50.0, abs=1.0)
        arm_s = episode[ARM].time_ns / 1e9 - episode[ARM][:][:, 0] / 100
        glove_s = episode[GLOVE].time_ns / 1e9 - episode[GLOVE][:][:, 0] / 50
        # The same moment has the same time in both, whatever clock stamped it.
        assert np.abs(glove_s - arm_s.mean()).max() < 1e-4
        assert "quarantine" not in episode.metadata


def test_a_source_that_dies_holds_the_episode_back_and_loses_nothing(
    body: RecordingSource, tmp_path: Path
) -> None:
    states: list[Health] = []
    settings = _settings(tmp_path)
    dying = _glove_source(_glove(8.0, breaks_s=3.0))
    recorder = Recorder([body, dying], settings, on_health=states.append)
    with pytest.raises(DriverError, match=r"the source glove failed: glove unplugged\. What was"):
        recorder.run()
    (path,) = recorder.episodes
    assert recorder.quarantined[path] == "the source glove failed: glove unplugged"
    assert "the source glove failed: glove unplugged" in states[-1].alarms
    with Episode.open(path) as episode:
        assert [one["what"] for one in episode.metadata["marks"]] == ["start", "end"]
        arm, glove = episode[ARM][:][:, 0], episode[GLOVE][:][:, 0]
        np.testing.assert_array_equal(np.diff(arm), 1)
        assert arm[-1] >= 700  # The others went on to the end of the post-roll.
        assert glove[-1] == 150


def test_a_source_that_ends_too_soon_is_said_so(body: RecordingSource, tmp_path: Path) -> None:
    recorder = Recorder([body, _glove_source(_glove(4.0))], _settings(tmp_path))
    (path,) = recorder.run()
    assert recorder.quarantined[path] == "the source glove ended before the episode did"


def test_streams_are_renamed_left_out_and_never_shared(body: RecordingSource) -> None:
    renamed = _glove_source(_glove(1.0), rename={"glove": "left_glove"}, clock="robot")
    rig = join_sources([body, renamed])
    assert rig.source("observations/left_glove") == "robot"
    twin = RecordingSource("twin", body.driver, Options())
    with pytest.raises(DriverError, match="'body' and 'twin' both have observations/arm"):
        join_sources([body, twin])
    prefixed = RecordingSource("twin", body.driver, Options(), prefix="twin_", leave_out=("slow",))
    paths = [stream.path for stream in join_sources([body, prefixed]).schema.streams]
    assert "observations/twin_arm" in paths
    assert "observations/twin_slow" not in paths


def test_an_unknown_stream_to_rename_is_refused_with_the_list() -> None:
    wrong = _glove_source(_glove(1.0), rename={"globe": "left"})
    with pytest.raises(CorporealError, match="got 'globe'; expected one of: glove"):
        join_sources([wrong])


def test_the_teams_schema_decides_and_holes_are_held_back(
    body: RecordingSource, small_schema: Schema, tmp_path: Path
) -> None:
    streams = (*small_schema.streams, *Schema.model_validate(_GLOVE_SCHEMA).streams)
    agreed = small_schema.model_copy(
        update={"name": "team", "streams": streams, "metadata": ("task", "session", "operator")}
    )
    team = TeamDocuments(schema=agreed)
    sources = [body, _glove_source(_glove(8.0))]
    recorder = Recorder(sources, _settings(tmp_path), team=team)
    (path,) = recorder.run()
    assert recorder.quarantined[path] == "the metadata does not name: operator"
    with Episode.open(path) as episode:
        assert episode.schema.hash == agreed.hash
        assert episode.recovered is None
    recorder = Recorder(sources, _settings(tmp_path, operator="op1"), team=team)
    recorder.run()
    assert recorder.quarantined == {}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": "extra", "group": "debug", "shape": [1]}, "lists debug/extra; no source"),
        ({"name": "glove", "group": "observations", "shape": [3]}, r"shape, got \[2\] from the so"),
        (
            {"name": "glove", "group": "observations", "shape": [2], "unit": "N"},
            "its unit, got 1 from the source; expected N",
        ),
    ],
)
def test_a_schema_that_the_sources_cannot_fulfil_is_refused(
    change: dict[str, Any], sentence: str
) -> None:
    kept = [one for one in _GLOVE_SCHEMA["streams"] if one["name"] != change["name"]]  # type: ignore[index]
    team = Schema.model_validate({**_GLOVE_SCHEMA, "streams": [*kept, change]})
    with pytest.raises(DriverError, match=sentence):
        join_sources([_glove_source(_glove(1.0))], team)


_CALIBRATION = """
document: calibration
name: bench
version: 1.0.0
measured: 2026-11-18
position_error_m: 0.001
rotation_error_rad: 0.004
cameras:
  - {name: head_left, serial: A17, frame: torso_link, xyz: [0.06, 0.03, 0.45], rpy: [0, 0.8, 0]}
"""
_RIG = """
document: rig
name: bench
version: 1.0.0
sources:
  - name: body
    driver: synthetic
    options: {seconds: 5.5, height: 16, width: 32}
  - name: second
    driver: synthetic
    options: {seconds: 6, height: 16, width: 32, seed: 3}
    prefix: second_
    leave_out: [instruction]
follows: {protocol: task.yaml, calibration: bench.yaml}
mode: teleop
metadata: {station: s1, environment: lab}
"""


def _write_rig(folder: Path, text: str = _RIG) -> Path:
    values = open_protocol("pick_place").model_dump(mode="json", exclude_none=True)
    trigger = {"kind": "automatic", "pre_roll_s": 0.5, "post_roll_s": 0.75}
    robots = {**values["task"], "robots": ["g1"], "instructions": ["Pick the cup up."]}
    values |= {"trigger": trigger, "cameras": [{"name": "head_left"}], "task": robots}
    (folder / "task.yaml").write_text(json.dumps(values))
    (folder / "bench.yaml").write_text(_CALIBRATION)
    path = folder / "rig.yaml"
    path.write_text(text)
    return path


def test_a_rig_document_is_read_embedded_and_enforced(tmp_path: Path) -> None:
    sources, team = open_rig(_write_rig(tmp_path))
    recorder = Recorder(sources, RecorderSettings(tmp_path / "out"), team=team)
    (path,) = recorder.run()
    assert (recorder.settings.pre_roll_s, recorder.settings.post_roll_s) == (0.5, 0.75)
    with Episode.open(path) as episode:
        kinds = {"schema", "embodiment", "protocol", "calibration", "rig"}
        assert set(episode.documents) == kinds
        facts = episode.metadata
        assert facts["protocol"] == "pick_place@1.0.0"
        assert facts["task"] == "pick_place"  # Whatever the source calls it.
        assert facts["instruction"] == "Pick the cup up."
        assert facts["mode"] == "teleoperation"
        assert facts["calibration"]["start"]["position_error_m"] == 0.001
        assert facts["cameras"]["head_left"]["xyz"] == [0.06, 0.03, 0.45]
        assert facts["sensor_serials"] == {"head_left": "A17"}
        assert facts["rig"] == "bench@1.0.0"
        assert "observations/second_joint_position" in episode
        embedded = Calibration.parse(episode.document("calibration"), suffix=".json")
        assert embedded.hash == team.calibration.hash  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("driver: synthetic", "driver: synthetc", r"rig.yaml:7: sources\[0\].driver: got 'synthe"),
        ("seconds: 5.5", "seconds: -1", r"rig.yaml:8: sources\[0\].options: driver option seconds"),
        ("protocol: task.yaml", "protocol: no", "rig.yaml:14: follows.protocol: unknown protocol"),
        ("mode: teleop", "mode: banana", "unknown mode, got 'banana'; expected one of: autonomous"),
        ("follows:", "folows:", "rig.yaml:14: folows: unknown field. Did you mean 'follows'"),
    ],
)
def test_a_problem_of_a_rig_has_its_line_and_the_fix(
    before: str, after: str, sentence: str, tmp_path: Path
) -> None:
    path = _write_rig(tmp_path, _RIG.replace(before, after, 1))
    with pytest.raises(DocumentError, match=sentence):
        open_rig(path)


def test_a_calibration_of_another_camera_is_refused(tmp_path: Path) -> None:
    path = _write_rig(tmp_path)
    (tmp_path / "bench.yaml").write_text(_CALIBRATION.replace("head_left", "chest"))
    sources, team = open_rig(path)
    with pytest.raises(CorporealError, match=r"bench@1\.0\.0 has the camera chest; no source"):
        Recorder(sources, RecorderSettings(tmp_path / "out"), team=team)


def test_passwords_of_addresses_are_not_embedded() -> None:
    document = RigDocument.parse(
        "document: rig\nname: r\nversion: 1.0.0\nsources:\n"
        "  - {name: c, driver: camera, options: {device: 'rtsp://me:secret@10.0.0.2/live'}}\n"
    )
    (embedded,) = TeamDocuments(rig=document).embedded
    assert "secret" not in embedded.canonical()
    assert "rtsp://me:***@10.0.0.2/live" in embedded.canonical()


_POLICY_STREAMS = [
    {"name": "target", "group": "actions", "shape": [1], "rate_hz": 50},
]


def _arm_source(name: str, prefix: str, until_s: float = 1e9) -> RecordingSource:
    """Something that commands a joint 50 times per second."""
    rig = Rig(Schema.model_validate({**_GLOVE_SCHEMA, "streams": _POLICY_STREAMS}))

    def read() -> Iterator[Sample | Mark]:
        for number in range(350):
            stamp = BEGIN_NS + round(number / 50 * SECOND_NS)
            if number < until_s * 50:
                yield Sample("actions/target", stamp, stamp, np.full(1, number, np.float32))

    driver = Driver(Options, lambda _: rig, lambda _: read())
    return RecordingSource(name, driver, Options(), prefix=prefix)


@pytest.mark.parametrize("policy_until_s", [1e9, 2.0])
def test_an_intervention_is_marked_live_and_keeps_both_actions(
    make_driver: Callable[..., Driver], tmp_path: Path, policy_until_s: float
) -> None:
    items = in_order(*samples(7.0), mark("start", 1.5, task="reach"), mark("end", 5.0))
    recorder: Recorder | None = None

    body = RecordingSource("body", make_driver(lambda: iter(items)), Options())
    sources = [
        body,
        _arm_source("policy", "policy_", policy_until_s),
        _arm_source("leader", ""),
    ]
    settings = _settings(tmp_path, mode="rollout")

    class Marker:
        """Follows the source's marks, and takes over from 3 to 4 s, as a person would."""

        done = 0

        def see(self, item: Sample | Mark) -> Any:
            assert recorder is not None
            first = self.done == 0 and recorder.state == "recording"
            if first and item.arrival_ns >= begin_ns() + 3 * SECOND_NS:
                self.done = 1
                recorder.mark("intervention", note="missed the cup")
            elif self.done == 1 and item.arrival_ns >= begin_ns() + 4 * SECOND_NS:
                self.done = 2
                recorder.mark(None)
            return item.what if isinstance(item, Mark) else None

    started: list[int] = []

    def begin_ns() -> int:
        return started[0]

    trigger = Marker()
    see = trigger.see

    def watch(item: Sample | Mark) -> Any:
        if not started:
            started.append(item.arrival_ns)
        return see(item)

    trigger.see = watch  # type: ignore[method-assign]
    recorder = Recorder(sources, settings, trigger=trigger)
    (path,) = recorder.run()
    with Episode.open(path) as episode:
        facts = read_facts(episode.metadata)
    assert [segment.mode for segment in facts.segments] == [
        "autonomous rollout", "correction of a policy", "autonomous rollout"
    ]  # fmt: skip
    (intervention,) = facts.interventions
    assert intervention.start_ns == pytest.approx(1.5e9, abs=3e7)
    assert intervention.end_ns == pytest.approx(2.5e9, abs=3e7)
    assert intervention.note == "missed the cup"
    assert intervention.human_action == ("actions/target",)
    assert intervention.policy_action == ("actions/policy_target",)
    if policy_until_s > 7:
        assert recorder.quarantined == {}
    else:
        assert "the intervention at 1.5 s has no action of the policy" in recorder.quarantined[path]


def test_an_unknown_mode_is_refused_with_the_list(body: RecordingSource, tmp_path: Path) -> None:
    with pytest.raises(CorporealError, match="unknown mode, got 'banana'; expected one of: auto"):
        Recorder([body], _settings(tmp_path, mode="banana"))
