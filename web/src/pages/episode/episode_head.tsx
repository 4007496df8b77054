import { useMemo } from "react";
import { nameOf } from "../../api/names";
import { releasePath } from "../../api/releases";
import type { EpisodeDetail } from "../../api/schema";
import { useSession } from "../../api/session";
import { Link } from "../../parts/link";
import { MarkBar } from "../../parts/mark_bar";
import { VerdictChip } from "../../parts/notice";
import { go } from "../../parts/router";
import { useShortcuts } from "../../parts/shortcuts";
import type { Clock } from "../../player/clock";
import { DownloadMenu } from "./download_menu";
import "./episode_head.css";
import { lastList, listAddress, useNeighbours } from "./neighbours";
import { ShareButton } from "./share_button";
import { assessedShare } from "./story";

export interface EpisodeHeadProps {
  episode: EpisodeDetail;
  clock: Clock;
  /** Whether there is time to look for the episodes beside this one. */
  isReady: boolean;
  isSideOpen: boolean;
  onSide: () => void;
  onLayout: () => void;
}

/** Where one is, what the episode is, and what can be done with it. */
export function EpisodeHead(props: EpisodeHeadProps) {
  const { episode, clock, isReady, isSideOpen, onSide, onLayout } = props;
  const list = useMemo(lastList, []);
  const home = listAddress(list);
  const session = useSession();
  // Who came by a link sees no list: there is nothing beside the episode.
  const { before, after, place } = useNeighbours(
    list,
    episode.id,
    isReady && session.episodes === null,
  );
  const open = (id: string | null) => id && go(`/episodes/${encodeURIComponent(id)}`);
  useShortcuts("Episode", [
    {
      keys: ["PageUp", "Shift+ArrowUp"],
      does: "Previous episode of the list",
      run: () => open(before),
    },
    {
      keys: ["PageDown", "Shift+ArrowDown"],
      does: "Next episode of the list",
      run: () => open(after),
    },
    {
      keys: ["c"],
      does: "Compare with another episode",
      run: () => go(`/compare?a=${encodeURIComponent(episode.id)}`),
    },
    { keys: ["u"], does: "Back to the list", run: () => go(home) },
  ]);
  const mayExport = session.may.includes("export");
  const { row } = episode;
  return (
    <header className="episode-head">
      <nav aria-label="Episodes">
        <Link href={home}>‹ Episodes</Link>
        {(before || after) && (
          <span className="episode-head-step">
            <button
              type="button"
              className="quiet"
              disabled={!before}
              aria-label="Previous episode"
              title="Previous episode (Page up)"
              onClick={() => open(before)}
            >
              ↑
            </button>
            {place >= 0 && (
              <span className="num muted">
                {place + 1} / {list.ids.length}
              </span>
            )}
            <button
              type="button"
              className="quiet"
              disabled={!after}
              aria-label="Next episode"
              title="Next episode (Page down)"
              onClick={() => open(after)}
            >
              ↓
            </button>
          </span>
        )}
      </nav>
      <h1 title={[row.task, row.file].filter(Boolean).join(" · ")}>
        <span className="num">{nameOf(row)}</span> {row.task ?? row.file}
      </h1>
      <VerdictChip
        verdict={row.verdict}
        decision={episode.decision}
        assessed={episode.assessments.length ? assessedShare(episode) : null}
      />
      {episode.tags.map((tag) => (
        <Link
          key={tag}
          className="chip"
          href={`/episodes?query=${encodeURIComponent(`tag = "${tag}"`)}`}
        >
          {tag}
        </Link>
      ))}
      {episode.releases.map((release) => (
        <Link
          key={release}
          className="chip released"
          href={releasePath(release)}
          title="It is part of this release"
        >
          {release}
        </Link>
      ))}
      <span className="episode-head-words muted" title={row.instruction ?? ""}>
        {row.instruction === row.task ? "" : row.instruction}
      </span>
      <details className="episode-head-act">
        <summary className="button">Act…</summary>
        <MarkBar
          target={{ episodes: [episode.id] }}
          count={1}
          query={`number = ${row.number}`}
          tags={episode.tags}
          section="Episode"
        />
      </details>
      <span className="episode-head-tools">
        <Link
          className="button quiet"
          href={`/compare?a=${encodeURIComponent(episode.id)}`}
          title="Compare with another episode (C)"
          aria-label="Compare with…"
        >
          ⇆<span className="episode-head-long episode-head-less"> Compare with…</span>
        </Link>
        {mayExport && <DownloadMenu episode={episode} />}
        <ShareButton episode={episode} clock={clock} />
        <button
          type="button"
          className="quiet episode-head-layout"
          aria-haspopup="dialog"
          title="Layout of the panels (W)"
          onClick={onLayout}
        >
          ◫<span className="episode-head-long"> Layout</span>
        </button>
        <button
          type="button"
          className="quiet episode-head-side"
          aria-pressed={isSideOpen}
          title="Details (I)"
          onClick={onSide}
        >
          ≡<span className="episode-head-long"> Details</span>
        </button>
      </span>
    </header>
  );
}
