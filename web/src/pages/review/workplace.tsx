import { useMay } from "../../api/session";
import { Notice, Waiting } from "../../parts/notice";
import { OpenItem } from "./open_item";
import { OutboxBanner } from "./outbox_banner";
import { Results } from "./results";
import { useQueue } from "./use_queue";
import "./workplace.css";

/** Where one episode after the other is looked at. */
export function Workplace({ name }: { name: string }) {
  const mayReview = useMay("annotate");
  if (!mayReview) return <Results name={name} others={0} onChange={null} />;
  return <Queue name={name} />;
}

function Queue({ name }: { name: string }) {
  const queue = useQueue(name);
  const { turn, episode } = queue;
  return (
    <div className="workplace-whole">
      <OutboxBanner outbox={queue.outbox} />
      {queue.error ? (
        <Notice error={queue.error} again={queue.again} />
      ) : !turn ? (
        <Waiting what="Taking the next episode" />
      ) : !turn.item ? (
        <Results
          name={name}
          others={turn.others}
          onChange={queue.again}
          onUndo={turn.recent.length ? queue.undo : undefined}
        />
      ) : !episode || episode.id !== turn.item.episode ? (
        queue.missing ? (
          <Missing error={queue.missing} skip={queue.skip} />
        ) : (
          <Waiting what="Opening the episode" />
        )
      ) : (
        <OpenItem
          key={`${turn.item.episode} ${turn.item.version}`}
          queue={queue}
          turn={turn}
          item={turn.item}
          episode={episode}
        />
      )}
    </div>
  );
}

/** The file of an episode may be gone; the others can still be looked at. */
function Missing({ error, skip }: { error: Error; skip: () => void }) {
  return (
    <div className="notice" role="alert">
      <p>{error.message}</p>
      <button type="button" onClick={skip}>
        Go on with the next one
      </button>
    </div>
  );
}
