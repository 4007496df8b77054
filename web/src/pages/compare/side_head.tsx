import { mapTime } from "../../api/comparison";
import { nameOf } from "../../api/names";
import { Link } from "../../parts/link";
import { VerdictChip } from "../../parts/notice";
import { type Clock, clockText } from "../../player/clock";
import { useClockTime } from "../../player/use_clock";
import "./side_head.css";
import type { Side } from "./sides";

/** Which of the two it is, and a way to take another. */
export function SideHead({ side, clock, other }: { side: Side; clock: Clock; other: string }) {
  const { letter, episode } = side;
  const { row } = episode;
  return (
    <header className={`side-head side-head-${letter.toLowerCase()}`}>
      <b aria-hidden>{letter}</b>
      <Link href={`/episodes/${encodeURIComponent(episode.id)}`} title={row.file}>
        <span className="num">{nameOf(row)}</span> {row.task ?? row.file}
      </Link>
      <VerdictChip verdict={row.verdict} />
      <span className="muted">{[row.operator, row.failure].filter(Boolean).join(" · ")}</span>
      <Outside side={side} clock={clock} />
      <Link
        className="side-head-other"
        href={`/compare?a=${encodeURIComponent(other)}`}
        title="Keep the other one, choose this one anew"
      >
        another…
      </Link>
    </header>
  );
}

/** Said while the common clock is before this episode, or after it. */
function Outside({ side, clock }: { side: Side; clock: Clock }) {
  const { episode, moments } = side;
  const own = mapTime(moments.time_a, moments.time_b, useClockTime(clock));
  if (own > episode.end_ns)
    return <span className="chip num">ended at {clockText(episode.end_ns)}</span>;
  if (own < episode.start_ns)
    return <span className="chip num">begins at {clockText(episode.start_ns)}</span>;
  return null;
}
