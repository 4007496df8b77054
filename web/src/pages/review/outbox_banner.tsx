import { useEffect, useState, useSyncExternalStore } from "react";
import "./outbox_banner.css";
import { EpisodeName } from "../../parts/episode_name";
import type { Outbox } from "./outbox";
import { plural } from "./wording";

/** A server that answers takes a decision before anybody could read of it. */
const PATIENCE_MS = 700;

/** Says which decisions are not with the server yet, and which it did not take. */
export function OutboxBanner({ outbox }: { outbox: Outbox }) {
  const { waiting, refused } = useSyncExternalStore(outbox.subscribe, () => outbox.state);
  const [isLate, setLate] = useState(false);
  const isWaiting = waiting.length > 0;
  useEffect(() => {
    setLate(false);
    if (!isWaiting) return;
    const timer = setTimeout(() => setLate(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [isWaiting]);
  return (
    <>
      {isWaiting && isLate && (
        <p className="outbox-waiting" role="status">
          {plural(waiting.length, "decision")} {waiting.length === 1 ? "waits" : "wait"} for the
          server. Kept in this browser, and sent as soon as it answers.
        </p>
      )}
      {refused.length > 0 && (
        <div className="outbox-refused" role="alert">
          {refused.map(({ body, episode, sentence }) => (
            <p key={body.key}>
              Not taken for <EpisodeName id={episode} />: {sentence}
            </p>
          ))}
          <button type="button" onClick={() => outbox.dismiss()}>
            Understood
          </button>
        </div>
      )}
    </>
  );
}
