import { lazy, Suspense, useState } from "react";
import type { EpisodeDetail } from "../../api/schema";
import type { Clock } from "../../player/clock";

const ShareDialog = lazy(() =>
  import("../../parts/share_dialog").then((found) => ({ default: found.ShareDialog })),
);

/** Copies the picture of the chosen camera as it is shown. */
function StillButton() {
  const [said, setSaid] = useState("");
  const copy = async () => {
    try {
      const picture = await stillOf(document);
      await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
      setSaid("Copied");
    } catch {
      setSaid("The browser does not let Studio copy a picture here");
    }
    setTimeout(() => setSaid(""), 3000);
  };
  return (
    <button
      type="button"
      className="quiet"
      title="Copy the picture of the chosen camera"
      onClick={() => void copy()}
    >
      ▣<span className="episode-head-long"> {said || "Copy still"}</span>
    </button>
  );
}

/** The picture of the chosen camera, or of the first one, as PNG. */
async function stillOf(page: Document): Promise<Blob> {
  const canvas =
    page.querySelector<HTMLCanvasElement>(".episode-cameras .view-tile-chosen canvas") ??
    page.querySelector<HTMLCanvasElement>(".episode-cameras canvas");
  const picture = await new Promise<Blob | null>((tell) => {
    if (canvas) canvas.toBlob(tell, "image/png");
    else tell(null);
  });
  if (!picture) throw new Error("no camera is shown");
  return picture;
}

/** Shows this moment to others. */
export function ShareButton({ episode, clock }: { episode: EpisodeDetail; clock: Clock }) {
  const [address, setAddress] = useState<string | null>(null);
  const open = () => {
    clock.pause();
    setAddress(`/episodes/${encodeURIComponent(episode.id)}?t=${clock.timeNs}`);
  };
  return (
    <>
      <button
        type="button"
        className="quiet"
        aria-haspopup="dialog"
        title="Share this moment"
        onClick={open}
      >
        ↗<span className="episode-head-long"> Share</span>
      </button>
      <StillButton />
      {address && (
        <Suspense fallback={null}>
          <ShareDialog episodes={[episode.id]} address={address} onClose={() => setAddress(null)} />
        </Suspense>
      )}
    </>
  );
}
