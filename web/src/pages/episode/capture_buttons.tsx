import { useState } from "react";
import { clipAddress } from "../../api/movie";
import type { EpisodeDetail } from "../../api/schema";
import { useShortcuts } from "../../parts/shortcuts";
import type { Clock } from "../../player/clock";

const CLIP_NS = 5e9;
const SAID_MS = 4000;

/** What the chosen camera shows, to take along: the picture as copied, five seconds as a file. */
export function CaptureButtons({ episode, clock }: { episode: EpisodeDetail; clock: Clock }) {
  const [said, setSaid] = useState<{ still?: string; clip?: string }>({});
  const tell = (what: typeof said) => {
    setSaid(what);
    setTimeout(() => setSaid({}), SAID_MS);
  };
  const copy = async () => {
    try {
      const picture = await stillOf(document);
      await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
      tell({ still: "Copied" });
    } catch {
      tell({ still: "The browser does not let Studio copy a picture here" });
    }
  };
  const save = async () => {
    const stream = chosenCanvas(document)?.dataset.stream;
    const camera = episode.streams.find(({ path, kind }) => path === stream && kind === "video");
    if (!camera) {
      tell({ clip: "Choose a camera: depth has no movie" });
      return;
    }
    const address = clipAddress(episode.id, camera.path, clipSpan(clock));
    try {
      await download(address);
      tell({ clip: "Saved: drag the file to where it belongs" });
    } catch (reason) {
      tell({ clip: reason instanceof Error ? reason.message : String(reason) });
    }
  };
  useShortcuts("Episode", [
    { keys: ["Shift+s"], does: "Copy the picture of the chosen camera", run: () => void copy() },
    { keys: ["Shift+c"], does: "Save five seconds of the chosen camera", run: () => void save() },
  ]);
  return (
    <>
      <button
        type="button"
        className="quiet"
        title="Copy the picture of the chosen camera (Shift+S)"
        aria-label={said.still ?? "Copy still"}
        onClick={() => void copy()}
      >
        ▣
        <span className={`episode-head-long${said.still ? "" : " episode-head-less"}`}>
          {" "}
          {said.still ?? "Copy still"}
        </span>
      </button>
      <button
        type="button"
        className="quiet"
        title="Save 5 s of the chosen camera around this moment as MP4 (Shift+C); no browser copies movies"
        aria-label={said.clip ?? "Save 5 s clip"}
        onClick={() => void save()}
      >
        ▶
        <span className={`episode-head-long${said.clip ? "" : " episode-head-less"}`}>
          {" "}
          {said.clip ?? "Save 5 s clip"}
        </span>
      </button>
      <span role="status" className="episode-head-said">
        {said.still ?? said.clip ?? ""}
      </span>
    </>
  );
}

/** Five seconds around the clock's time, all of them within the episode where it is that long. */
export function clipSpan(clock: Pick<Clock, "timeNs" | "startNs" | "endNs">): [number, number] {
  const latest = Math.max(clock.endNs - CLIP_NS, clock.startNs);
  const from = Math.min(Math.max(clock.timeNs - CLIP_NS / 2, clock.startNs), latest);
  return [from, Math.min(from + CLIP_NS, Math.max(clock.endNs, from + 1))];
}

/** Asked for with fetch, so that a refusal is told instead of saved. */
async function download(address: string): Promise<void> {
  const answer = await fetch(address);
  if (!answer.ok) {
    const { error } = (await answer.json().catch(() => ({}))) as { error?: string };
    throw new Error(error ?? "The clip could not be made");
  }
  const named = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") ?? "");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = named?.[1] ?? "clip.mp4";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), SAID_MS);
}

function chosenCanvas(page: Document): HTMLCanvasElement | null {
  return (
    page.querySelector<HTMLCanvasElement>(".episode-cameras .view-tile-chosen canvas") ??
    page.querySelector<HTMLCanvasElement>(".episode-cameras canvas")
  );
}

/** The picture of the chosen camera, or of the first one, as PNG. */
async function stillOf(page: Document): Promise<Blob> {
  const canvas = chosenCanvas(page);
  const picture = await new Promise<Blob | null>((tell) => {
    if (canvas) canvas.toBlob(tell, "image/png");
    else tell(null);
  });
  if (!picture) throw new Error("no camera is shown");
  return picture;
}
