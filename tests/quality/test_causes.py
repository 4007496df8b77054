"""One cause is one finding: streams of one message, and what follows from another fault."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.quality.samples import joints

from corporeal.episode.recording import ArraySignal
from corporeal.quality import causes
from corporeal.quality.causes import join_causes, join_with_batch
from corporeal.quality.check import Check, Finding, Findings, Severity

STATE, TARGET = "observations/q", "actions/q"


def _nothing(_: object) -> Findings:
    return iter(())


@pytest.fixture(autouse=True)
def catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {
        "loud": Check(_nothing, topic="time", severity="fail"),
        "blind": Check(_nothing, topic="pictures", severity="note"),
        "root": Check(_nothing, topic="joints", severity="fail", explains=("leaf", "branch")),
        "branch": Check(_nothing, topic="joints", severity="fail", explains=("leaf",)),
        "leaf": Check(_nothing, topic="joints", severity="fail"),
    }
    monkeypatch.setattr(causes, "checks", lambda: made)


def _said(
    check: str,
    *columns: str,
    stream: str | None = STATE,
    frames: tuple[tuple[int, int], ...] = (),
    severity: Severity = "fail",
) -> Finding:
    return Finding(check, stream, frames, check=check, columns=columns, severity=severity)


def _checks(findings: tuple[Finding, ...]) -> list[str]:
    return [each.check for each in findings]


def test_a_late_message_is_one_finding_for_all_that_it_brings() -> None:
    recording = joints()
    first, *_ = recording.signals.values()
    brought = ("observations/q", "observations/dq", "observations/effort")
    other = ArraySignal(first.spec, first.time_ns + 1, first[:])
    together = replace(recording, signals={
        **dict.fromkeys(brought, first), "observations/camera_pose": other
    })  # fmt: skip
    late = [
        Finding("40 ms late", stream=label, frames=((3, 4),), check="loud", severity="fail")
        for label in together.signals
    ]
    apart = Finding("120 ms late", stream=brought[0], frames=((9, 10),), check="loud")
    joined = join_causes((*late, apart), together)
    assert [each.stream for each in joined] == [brought[0], "observations/camera_pose", brought[0]]
    assert joined[0].siblings == brought[1:]
    assert "the same in observations/dq and observations/effort" in joined[0].message
    assert joined[0].to_json()["siblings"] == list(brought[1:])
    assert joined[1].siblings == joined[2].siblings == ()


def test_what_is_said_of_values_is_joined_only_where_the_moments_are_the_same() -> None:
    recording = joints()
    first, *_ = recording.signals.values()
    together = replace(recording, signals={"observations/q": first, "observations/dq": first})
    frozen = [
        Finding("frozen", stream="observations/q", frames=((3, 9),), check="blind"),
        Finding("frozen", stream="observations/dq", frames=((3, 9),), check="blind"),
        Finding("frozen", stream="observations/dq", check="blind"),
    ]
    joined = join_causes(frozen, together)
    assert [each.siblings for each in joined] == [("observations/dq",), ()]
    two = [
        Finding(f"{joint} is stuck", stream="observations/q", frames=((3, 9),), check="blind")
        for joint in ("a", "b")
    ]
    assert join_causes(two, together) == tuple(two)


def test_what_follows_from_a_fault_is_told_with_it() -> None:
    root = _said("root", "elbow", "wrist")
    leaves = _said("leaf", "elbow"), _said("leaf", "wrist"), _said("leaf")
    (finding,) = join_causes((leaves[0], root, *leaves[1:]), joints())
    assert finding.message == "root; from this follows leaf (3 times)"
    assert finding.consequences == ("leaf",)
    assert finding.to_json()["columns"] == ["elbow", "wrist"]


def test_what_is_of_another_column_stream_or_moment_stands_by_itself() -> None:
    root = _said("root", "elbow", frames=((100, 102),))
    others = (
        _said("leaf", "knee", frames=((100, 101),)),
        _said("leaf", "elbow", frames=((100, 101), (300, 301))),
        _said("leaf", "elbow"),
        _said("leaf", "elbow", stream=TARGET, frames=((100, 101),)),
        _said("loud", "elbow", frames=((100, 101),)),
    )
    assert join_causes((root, *others), joints()) == (root, *others)
    near = _said("leaf", "elbow", frames=((98, 104),))
    assert _checks(join_causes((root, near), joints())) == ["root"]


def test_a_cause_weighs_as_much_as_what_follows_from_it() -> None:
    asked = _said("root", severity="quarantine")
    (finding,) = join_causes((asked, _said("leaf")), joints())
    assert finding.severity == "fail"
    both = (_said("root", severity="note"), _said("leaf"))
    assert join_causes(both, joints()) == both, "a note explains nothing that counts"


def test_a_chain_of_causes_ends_in_its_first() -> None:
    (finding,) = join_causes((_said("branch"), _said("leaf"), _said("root")), joints())
    assert finding.check == "root"
    assert finding.consequences == ("branch", "leaf")


def test_what_the_batch_says_explains_what_the_episode_alone_shows() -> None:
    about, own = join_with_batch((_said("root", stream=None),), (_said("leaf"), _said("loud")))
    assert _checks(about) == ["root"]
    assert _checks(own) == ["loud"]
    about, own = join_with_batch((_said("leaf"),), (_said("root"),))
    assert (about, _checks(own)) == ((), ["root"])
