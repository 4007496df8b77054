import { nameOf } from "../../api/names";
import type { EpisodeDetail } from "../../api/schema";
import { Link } from "../../parts/link";
import { VerdictChip } from "../../parts/notice";
import "./side_head.css";

/** Which of the two it is, and a way to take another. */
export function SideHead({
  letter,
  episode,
  other,
}: {
  letter: "A" | "B";
  episode: EpisodeDetail;
  other: string;
}) {
  const { row } = episode;
  return (
    <header className={`side-head side-head-${letter.toLowerCase()}`}>
      <b aria-hidden>{letter}</b>
      <Link href={`/episodes/${encodeURIComponent(episode.id)}`} title={row.file}>
        <span className="num">{nameOf(row)}</span> {row.task?.replaceAll("_", " ") ?? row.file}
      </Link>
      <VerdictChip verdict={row.verdict} />
      <span className="muted">{[row.operator, row.failure].filter(Boolean).join(" · ")}</span>
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
