import { lazy, Suspense, useState } from "react";
import type { EpisodeDetail } from "../../api/schema";
import type { Clock } from "../../player/clock";
import { CaptureButtons } from "./capture_buttons";

const ShareDialog = lazy(() =>
  import("../../parts/share_dialog").then((found) => ({ default: found.ShareDialog })),
);

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
      <CaptureButtons episode={episode} clock={clock} />
      {address && (
        <Suspense fallback={null}>
          <ShareDialog episodes={[episode.id]} address={address} onClose={() => setAddress(null)} />
        </Suspense>
      )}
    </>
  );
}
