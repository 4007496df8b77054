"""Draws the pictures of docs/guides/annotation.md from simulated episodes: run it, look, commit.

    python tools/write_annotation_pictures.py [FOLDER]

FOLDER keeps the recorded episodes, so that a second run is quick. Needs Chromium and the page.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import uvicorn
from PIL import Image, ImageDraw

from corporeal.catalog.accounts import add_account, new_token
from corporeal.catalog.ingestion import ingest
from corporeal.catalog.permission import Actor, Role
from corporeal.catalog.query import every_episode
from corporeal.catalog.store import digest_of
from corporeal.catalog.workspace import Workspace, make_workspace
from corporeal.episode import Episode
from corporeal.episode.recording import recording_of
from corporeal.labelling.annotation import Annotation, Edit, Instruction, Put, Set, Step
from corporeal.labelling.frames import Frames, reference_stream
from corporeal.labelling.proposal import ProposalRequest, detect, proposers
from corporeal.labelling.queues import take_next
from corporeal.labelling.review import submit
from corporeal.labelling.tasks import TaskOptions, create_tasks, frames_about, save_edits
from corporeal.labelling.taxonomy import open_taxonomy
from corporeal.studio.context import open_studio
from corporeal.studio.server import create_application
from corporeal.studio.settings import StudioSettings

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
TAXONOMY = open_taxonomy("manipulation")
ROLES: dict[str, Role] = {
    "root": "admin", "lee": "lead", "ann": "annotator", "ben": "annotator", "cleo": "annotator",
}  # fmt: skip
SHOWN = ("approach", "grasp", "lift", "retract")
AROUND = (-3, -1, 0, 3)
COLOURS = 96


def record(folder: Path) -> list[Path]:
    """Three simulated episodes, recorded once."""
    if not list(folder.glob("*.h5")):
        subprocess.run(
            [sys.executable, "-m", "corporeal", "record", "--driver", "sim", "--task",
             "pick_place", "--episodes", "3", "--set", "seed=11", "--set", "height=240",
             "--set", "width=320", "--out", str(folder)],
            check=True,
        )  # fmt: skip
    return sorted(folder.glob("*.h5"))


def propose(path: Path) -> tuple[Annotation, Frames]:
    """What the signals of an episode propose."""
    with Episode.open(path) as episode:
        recording = recording_of(episode)
        stream = reference_stream(recording)
        assert stream is not None
        frames = Frames(stream, recording.signals[stream].time_ns.copy())
        question = ProposalRequest(recording, TAXONOMY, "pick_place", stream, detect(recording))
        made = proposers()["events"].propose(question)
        assert made is not None
        return made, frames


def draw_rules(path: Path) -> None:
    """The frames before, at and after four boundaries, the boundary's own framed."""
    made, frames = propose(path)
    rows = []
    with Episode.open(path) as episode:
        camera = episode[frames.stream]
        for label in SHOWN:
            segment = next(each for each in made.in_lane("phase") if each.label == label)
            at = int(np.searchsorted(frames.stamps, segment.start_ns))
            rows.append([(at + step, camera[at + step], step == 0) for step in AROUND])
    width, height, gap, head = 240, 120, 8, 24
    sheet = Image.new(
        "RGB", (len(AROUND) * (width + gap) + gap, len(rows) * (height + head + gap)), "white"
    )
    draw = ImageDraw.Draw(sheet)
    for row, (label, shown) in enumerate(zip(SHOWN, rows, strict=True)):
        top = row * (height + head + gap)
        for column, (number, picture, is_boundary) in enumerate(shown):
            left = gap + column * (width + gap)
            text = f"{label} begins: frame {number}" if is_boundary else f"frame {number}"
            draw.text((left, top + 8), text, fill="#1c5fb0" if is_boundary else "#4c5058")
            # The lower part, where the hands work.
            part = Image.fromarray(picture[-2 * picture.shape[0] // 3 :])
            sheet.paste(part.resize((width, height)), (left, top + head))
            if is_boundary:
                box = (left - 2, top + head - 2, left + width + 1, top + head + height + 1)
                draw.rectangle(box, outline="#1c5fb0", width=4)
    save(sheet, "annotate_rules")


def fill(workspace: Workspace, files: list[Path]) -> dict[str, str]:
    """Accounts, a queue, and one pair that two people have labelled; everybody's token."""
    ingest(workspace, files, who="root", on="serial")
    starts, frames = {}, {}
    with workspace.database.read() as connection:
        rows = {row.hash: row.id for row in every_episode(connection)}
    for path in files:
        name = rows[digest_of(path)]
        starts[name], frames[name] = propose(path)
    with workspace.database.write() as connection:
        tokens = {}
        for name, role in ROLES.items():
            add_account(connection, name, role, by=Actor("root", "admin"))
            tokens[name] = new_token(connection, name, "pictures", by=Actor("root", "admin"))
        # The last one is left for the picture of somebody at work.
        names = list(starts)
        for queue, part in (("pick-place", names[:-1]), ("tuesday", names[-1:])):
            create_tasks(
                connection, part, TAXONOMY, TaskOptions(queue, blind_share=0.0),
                by=Actor("lee", "lead"), starts=starts, frames=frames,
            )  # fmt: skip
    for name, late in (("ann", 0), ("ben", 5)):
        label(workspace, name, late)
    return tokens


def label(workspace: Workspace, name: str, late: int) -> None:
    """Confirm what is proposed, with the grasp so many frames late, and submit it."""
    by = Actor(name, "annotator")
    with workspace.database.write() as connection:
        while (held := take_next(connection, "pick-place", by=by)) is not None:
            frames = frames_about(connection, [held.episode])[held.episode]
            grasp = next(each for each in held.annotation.in_lane("phase") if each.label == "grasp")
            at = int(np.searchsorted(frames.stamps, grasp.start_ns))
            moved = {grasp.start_ns: int(frames.stamps[at + late])}
            known = {"hand": "right", "object": "box", "grasp_type": "power"}
            asked = {each.name: each.attributes for _, each in TAXONOMY.labels()}
            steps: list[Step] = [
                Put(put=each.model_copy(update={
                    "confirmed": True,
                    "start_ns": moved.get(each.start_ns, each.start_ns),
                    "end_ns": moved.get(each.end_ns, each.end_ns),
                    "attributes": {key: known[key] for key in asked[each.label] if key in known},
                }))
                for each in held.annotation.segments
            ]  # fmt: skip
            steps.append(Set(set={"outcome": "success", "failure_mode": None}))
            steps.append(Put(put=Instruction(id="said", text="Put the box on the mark.")))
            edit = Edit(id="all", action="accept", steps=tuple(steps))
            save_edits(connection, held.id, [edit], base_version=held.version, by=by)
            submit(connection, held.id, by=by)
            if held.pair is not None:
                return


@contextmanager
def serve(workspace: Workspace) -> Iterator[str]:
    """Studio on a free port."""
    with open_studio(workspace, StudioSettings()) as studio:
        config = uvicorn.Config(create_application(studio), port=0, log_level="warning")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.05)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        server.should_exit = True
        thread.join(timeout=10)


def shoot(address: str, tokens: dict[str, str]) -> None:
    """Pages as people see them."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader",
                  "--enable-unsafe-swiftshader"],
        )  # fmt: skip
        for name, who, path, presses in (
            ("annotate_work", "ben", "/labels", ()),
            ("annotate_bench", "cleo", "/labels", ("n", "ArrowDown", "ArrowDown")),
            ("annotate_queue", "lee", "/labels/queues", ("n",)),
            ("annotate_decide", "lee", "/labels/adjudication", ("Decide",)),
        ):
            context = browser.new_context(
                viewport={"width": 1280, "height": 800},
                extra_http_headers={"Authorization": f"Bearer {tokens[who]}"},
            )
            page = context.new_page()
            page.goto(address + path)
            page.wait_for_timeout(1500)
            for press in presses:
                if press == "Decide":
                    page.get_by_role("link", name=press).first.click()
                else:
                    page.keyboard.press(press)
                page.wait_for_timeout(2500)
            save(Image.open(io.BytesIO(page.screenshot())), name)
            context.close()
        browser.close()


def save(picture: Image.Image, name: str) -> None:
    """As a PNG of few colours: small enough for a repository."""
    few = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(IMAGES / f"{name}.png", optimize=True)


def main() -> None:
    """Draw everything."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(scratch) / "episodes"
        folder.mkdir(parents=True, exist_ok=True)
        files = record(folder)
        draw_rules(files[1])
        with make_workspace(Path(scratch) / "robots") as workspace:
            tokens = fill(workspace, files)
            with serve(workspace) as address:
                shoot(address, tokens)


if __name__ == "__main__":
    main()
