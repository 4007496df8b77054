"""What is damaged of hands, motions and robots: small files, ours and of others."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tests.labelling.written_labels import STAMPS, annotation
from tests.teleoperation.hands.hand_files import (
    avp_frames,
    mediapipe_frames,
    write_egodex,
    write_lines,
    write_table,
)

from bench.fuzz.readers import Sample, is_read
from corporeal.appearance.surface import solid
from corporeal.labelling.labels.label_file import EpisodeLabels, label_formats
from corporeal.quality.anomaly.channels import PHASES
from corporeal.quality.anomaly.envelope import BINS, Envelope

MAX_BYTES = 1_600_000
# What is cut to some lines, so that a thousand of it can be tried.
LINES = 60
_TRAJECTORY = Path("trajectory/closed_loop_trajectory.csv")


def hand_samples(folder: Path, data: Path) -> Iterator[Sample]:
    """What glasses, headsets, cameras and gloves tell of hands, some lines of each."""
    folder.mkdir(parents=True)
    for table in sorted(data.glob("ego/aria_mps_hands/hand_tracking/wrist_and_palm_poses.csv")):
        made = folder / "aria"
        for name, source in (("hands", table), ("trajectory", table.parent.parent / _TRAJECTORY)):
            lines = source.read_text("utf-8").splitlines()
            kept = made / name / source.name
            kept.parent.mkdir(parents=True)
            step = max(1, len(lines) // LINES)
            kept.write_text("\n".join([lines[0], *lines[1::step]]), "utf-8")
        yield Sample("hands of Aria", str(made), "hands")
        write_egodex(folder / "egodex.hdf5")
        write_lines(folder / "avp.jsonl", avp_frames()[:LINES])
        write_lines(folder / "mediapipe.jsonl", mediapipe_frames()[:LINES])
        write_table(folder / "glove.csv")
        for path in sorted(folder.glob("*.*")):
            yield Sample(f"hands {path.name}", str(path), "hands")


def motion_samples(folder: Path, data: Path) -> Iterator[Sample]:
    """Motions of people and robots in the formats of which small real files are rare."""
    folder.mkdir(parents=True)
    for skeleton in sorted(data.glob("mocap/cmu_asf_amc_bvh/*.asf"))[:1]:
        shutil.copy(skeleton, folder)
        for motion in sorted(skeleton.parent.glob(f"{skeleton.stem}_*.amc"))[:1]:
            lines = motion.read_text("utf-8").splitlines()
            (folder / motion.name).write_text("\n".join(lines[: 30 * LINES]), "utf-8")
        yield Sample("motion .asf and .amc", str(folder), "beside")
    chosen = [*sorted(data.glob("mocap/c3d_*/**/*.c3d")), *sorted(data.glob("mocap/*/*.csv"))]
    samples = [Sample(f"markers {path.suffix}", str(path), "markers") for path in chosen
               if path.stat().st_size <= MAX_BYTES]  # fmt: skip
    seen: dict[str, int] = {}
    for sample in samples:
        if seen.get(sample.name, 0) < 2 and is_read(sample):
            seen[sample.name] = seen.get(sample.name, 0) + 1
            yield sample
    for path in sorted(data.glob("retarget/g1_csv_*/*.csv"))[:1]:
        short = folder.with_name("motion.csv")
        short.write_text("\n".join(path.read_text("utf-8").splitlines()[: 4 * LINES]), "utf-8")
        yield Sample("dataset .csv", str(short), "dataset")
    for path in sorted(data.glob("models/**/g1_29dof*.xml"))[:1]:
        yield Sample("robot .xml", str(path), "mjcf")


def mesh_samples(folder: Path) -> Iterator[Sample]:
    """A ball in every format of meshes."""
    folder.mkdir(parents=True)
    ball = solid("sphere", (0.1,)).corners
    head = np.zeros(84, np.uint8).tobytes()[:80] + len(ball).to_bytes(4, "little")
    rows = [np.concatenate([np.zeros(3), each.reshape(-1)]).astype("<f4").tobytes() + b"\0\0"
            for each in ball]  # fmt: skip
    (folder / "ball.stl").write_bytes(head + b"".join(rows))
    points = ball.reshape(-1, 3)
    lines = [f"v {x:.4f} {y:.4f} {z:.4f}" for x, y, z in points]
    lines += [f"f {n + 1}//1 {n + 2}//1 {n + 3}//1" for n in range(0, len(points), 3)]
    (folder / "ball.obj").write_text("\n".join(["usemtl red", *lines]), "utf-8")
    text = [f"vertex {x:.4f} {y:.4f} {z:.4f}" for x, y, z in points]
    (folder / "words.stl").write_text("\n".join(["solid ball", *text]), "utf-8")
    numbers = " ".join(f"{value:.4f}" for value in points.reshape(-1))
    (folder / "ball.dae").write_text(
        "<COLLADA><asset><unit meter='0.001'/><up_axis>Y_UP</up_axis></asset><library_geometries>"
        f"<geometry id='g'><mesh><source id='p'><float_array>{numbers}</float_array></source>"
        "<vertices id='v'><input semantic='POSITION' source='#p'/></vertices><polylist>"
        f"<input semantic='VERTEX' source='#v' offset='0'/><vcount>{'3 ' * len(ball)}</vcount>"
        f"<p>{' '.join(map(str, range(len(points))))}</p></polylist></mesh></geometry>"
        "</library_geometries><library_visual_scenes><visual_scene><node><scale>1 2 1</scale>"
        "<instance_geometry url='#g'/></node></visual_scene></library_visual_scenes></COLLADA>"
    )
    for path in sorted(folder.iterdir()):
        yield Sample(f"mesh {path.name}", str(path), "mesh")


def learnt_samples(folder: Path) -> Iterator[Sample]:
    """A detector, and labels of an episode in every format."""
    folder.mkdir(parents=True)
    shape = (PHASES, BINS, 3)
    envelope = Envelope(("a", "b", "c"), np.zeros(shape), np.ones(shape), np.ones(3), ("reach",))
    envelope.save(folder / "usual.npz")
    yield Sample("detector .npz", str(folder / "usual.npz"), "detector")
    labels = [EpisodeLabels("e-1", annotation(), STAMPS)]
    for written in label_formats().values():
        path = folder / f"labels{written.suffix}"
        written.write(path, labels)
        yield Sample(f"labels {path.suffix}", str(path), "labels")
