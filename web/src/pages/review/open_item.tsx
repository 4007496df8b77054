import { lazy, Suspense, useEffect, useMemo, useRef, useState } from "react";
import { nameOf } from "../../api/names";
import type { EpisodeDetail, ReviewItem, ReviewTurn } from "../../api/schema";
import { VerdictChip, Waiting } from "../../parts/notice";
import { useShortcuts } from "../../parts/shortcuts";
import { Cameras } from "../../player/cameras";
import { Clock } from "../../player/clock";
import { Timeline } from "../../player/timeline";
import { Transport } from "../../player/transport";
import { ItemPanel } from "./item_panel";
import { ProgressBar } from "./progress_bar";
import { RejectDialog } from "./reject_dialog";
import { watchShown } from "./shown";
import { ShownBar } from "./shown_bar";
import { useAttention } from "./use_attention";
import { useAutoplay } from "./use_autoplay";
import { useFirstKeys } from "./use_first_keys";
import type { Queue } from "./use_queue";
import { firstPicture, marksOf, nextMark } from "./wording";

const Scene = lazy(() => import("../../scene/scene"));
const RATE = 2;

export interface OpenItemProps {
  queue: Queue;
  turn: ReviewTurn;
  item: ReviewItem;
  episode: EpisodeDetail;
}

/** One episode of the queue: it plays at once, twice as fast, and waits for a decision. */
export function OpenItem({ queue, turn, item, episode }: OpenItemProps) {
  const clock = useMemo(
    () => new Clock(episode.start_ns, episode.end_ns, firstPicture(episode)),
    [episode],
  );
  const stage = useRef<HTMLElement>(null);
  const seconds = useAttention();
  const [isRejecting, setRejecting] = useState(false);
  const hasBegun = useAutoplay(stage, clock, RATE);
  const watched = useMemo(() => watchShown(clock, firstPicture(episode)), [clock, episode]);
  const [isAsking, setAsking] = useState(false);
  useEffect(() => {
    clock.waitsForPictures = true;
    return () => {
      watched.stop();
      clock.close();
    };
  }, [clock, watched]);
  const marks = useMemo(() => marksOf(episode), [episode]);
  const told = () => ({ seconds: seconds(), shown: Math.min(watched.shown.share, 1) });
  const accept = () => {
    const isSeen = watched.shown.share >= turn.review.seen_share;
    if (isSeen || isAsking) queue.decide({ decision: "accept", ...told() });
    else setAsking(true);
  };
  const toFinding = () => {
    const next = nextMark(marks, clock.timeNs);
    if (!next) return;
    clock.pause();
    clock.seek(next.timeNs);
  };
  const reject = () => setRejecting(true);
  const keys = [
    { key: "a", does: "Accept this episode", run: accept },
    { key: "r", does: "Reject it: choose why", run: reject },
    { key: "s", does: "Skip it: it comes again at the end", run: queue.skip },
    { key: "u", does: "Take the last decision back", run: queue.undo },
    { key: "n", does: "Go to the next finding", run: toFinding },
  ];
  useShortcuts(
    "Review",
    keys.map(({ key, ...rest }) => ({ keys: [key], ...rest })),
  );
  useFirstKeys(Object.fromEntries(keys.map(({ key, run }) => [key, run])), !isRejecting);
  return (
    <div className="workplace" data-episode={item.episode}>
      <header className="workplace-head">
        <h1>
          <span className="num">{nameOf(episode.row)}</span> {episode.row.task ?? episode.row.file}
        </h1>
        <VerdictChip verdict={episode.row.verdict} />
        <span className="muted workplace-instruction">{episode.row.instruction}</span>
        <span className="workplace-count num">
          {turn.review.decided} of {turn.review.items} decided
        </span>
        <ProgressBar review={turn.review} />
      </header>
      <section className="workplace-views" aria-label="Views" ref={stage}>
        <Cameras episode={episode} clock={clock} />
        <div className="workplace-scene">
          {/* The robot is heavy to set up; the picture comes first. */}
          <Suspense fallback={<Waiting what="Loading the robot" />}>
            {hasBegun && <Scene episode={episode} clock={clock} />}
          </Suspense>
        </div>
      </section>
      <aside className="workplace-side" aria-label="This episode and the review">
        <ItemPanel
          turn={turn}
          item={item}
          episode={episode}
          clock={clock}
          last={queue.last}
          undo={queue.undo}
        />
      </aside>
      <footer className="workplace-foot">
        <ShownBar shown={watched.shown} clock={clock} />
        <Timeline episode={episode} clock={clock} />
        <Transport episode={episode} clock={clock} />
      </footer>
      <div className="workplace-actions" role="group" aria-label="Decide">
        <button
          type="button"
          className="workplace-accept"
          disabled={queue.isSending}
          onClick={accept}
        >
          {isAsking ? "Accept unseen" : "Accept"} <kbd aria-hidden>a</kbd>
        </button>
        <button
          type="button"
          className="workplace-reject"
          disabled={queue.isSending}
          onClick={reject}
        >
          Reject <kbd aria-hidden>r</kbd>
        </button>
        <button type="button" disabled={queue.isSending} onClick={queue.skip}>
          Skip <kbd aria-hidden>s</kbd>
        </button>
        <button
          type="button"
          disabled={!turn.recent.length && !queue.isSending}
          onClick={queue.undo}
        >
          Undo <kbd aria-hidden>u</kbd>
        </button>
        {isAsking && (
          <p className="workplace-ask" role="alert">
            Less than {Math.round(100 * turn.review.seen_share)} % of it was shown. Watch on, or
            accept once more: it is marked <b>unseen</b>.
          </p>
        )}
      </div>
      {isRejecting && (
        <RejectDialog
          review={item.review}
          episode={item.episode}
          reasons={turn.reasons}
          onClose={() => setRejecting(false)}
          onReject={(reason, text) => {
            setRejecting(false);
            queue.decide({ decision: "reject", reason, text, ...told() });
          }}
        />
      )}
    </div>
  );
}
