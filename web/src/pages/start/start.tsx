import { useState, useSyncExternalStore } from "react";
import { getRows } from "../../api/episodes";
import { nameOf } from "../../api/names";
import { getOverview } from "../../api/overview";
import type { EpisodeTotals, ListedEpisode, WorkspaceOverview } from "../../api/schema";
import { useMay } from "../../api/session";
import { useAnswer } from "../../api/use_answer";
import { Link } from "../../parts/link";
import { Notice, VerdictChip, Waiting } from "../../parts/notice";
import { go } from "../../parts/router";
import { useShortcuts } from "../../parts/shortcuts";
import { count } from "../../parts/words";
import { EmptyWorkspace } from "../browse/nothing_found";
import { Thumbnail } from "../browse/thumbnail";
import { durationText, tellingMoment, timeText } from "../browse/wording";
import { alarmsOf, nameOf as recorderName, stopped } from "../live/health";
import { LiveFeed } from "../live/live_feed";
import { AddDataDialog } from "./add_data_dialog";
import { changeText, lengthText, queryLink } from "./start_words";
import "./start.css";

/** What there is, what is new, and what waits for whoever opens Studio. */
export default function Start(_: { address: URL }) {
  const overview = useAnswer(getOverview, []);
  useShortcuts("Overview", [
    { keys: ["e", "/"], does: "Go to the list of episodes", run: () => go("/episodes") },
  ]);
  const newest = useAnswer((signal) => getRows("", "-recorded", undefined, 8, signal), []);
  const [isAdding, setIsAdding] = useState(false);
  if (overview.error && !overview.value)
    return <Notice error={overview.error} again={overview.again} />;
  if (!overview.value) return <Waiting />;
  if (!overview.value.total.episodes) return <EmptyWorkspace />;
  const { folder } = overview.value;
  return (
    <div className="start">
      <h1 className="start-title">Overview</h1>
      <div className="start-top">
        <Totals total={overview.value.total} />
        {folder !== null && (
          <button type="button" onClick={() => setIsAdding(true)}>
            Add data…
          </button>
        )}
      </div>
      {isAdding && folder !== null && (
        <AddDataDialog folder={folder} onClose={() => setIsAdding(false)} />
      )}
      <div className="start-two">
        <Weeks overview={overview.value} />
        <WaitingList overview={overview.value} />
      </div>
      <section aria-label="Newest recordings">
        <header className="start-head">
          <h2>Newest recordings</h2>
          <Link href="/episodes">
            All episodes <kbd>E</kbd>
          </Link>
        </header>
        <ul className="start-newest">
          {(newest.value?.rows ?? []).map((row) => (
            <Recording key={row.id} row={row} />
          ))}
        </ul>
      </section>
    </div>
  );
}

function Totals({ total }: { total: EpisodeTotals }) {
  const figures: [string, string, string, string][] = [
    [total.episodes.toLocaleString("en"), total.episodes === 1 ? "episode" : "episodes", "", ""],
    [...lengthText(total.seconds), "", ""],
    [total.accepted.toLocaleString("en"), "accepted", "verdict = accepted", "good"],
    [
      total.waiting.toLocaleString("en"),
      "waiting",
      "verdict = quarantined or verdict is unknown",
      "warn",
    ],
    [total.failed.toLocaleString("en"), "failed", "verdict = failed", "bad"],
  ];
  return (
    <ul className="start-totals" aria-label="Totals">
      {figures.map(([value, words, query, look]) => (
        <li key={words}>
          <Link href={queryLink(query)} className={look ? `start-${look}` : undefined}>
            <b className="num">{value}</b> {words}
          </Link>
        </li>
      ))}
    </ul>
  );
}

function Weeks({ overview }: { overview: WorkspaceOverview }) {
  const { this_week: now, last_week: before } = overview;
  if (!now.episodes && !before.episodes)
    return (
      <section className="card start-card" aria-label="This week">
        <h2>This week</h2>
        <p className="muted">Nothing was recorded in the last two weeks.</p>
      </section>
    );
  const share = ({ accepted, episodes }: EpisodeTotals) => (episodes ? accepted / episodes : null);
  const rows: [string, string, string, string][] = [
    [
      "Episodes",
      `${now.episodes}`,
      `${before.episodes}`,
      changeText(now.episodes, before.episodes),
    ],
    [
      "Recorded",
      lengthText(now.seconds).join(" "),
      lengthText(before.seconds).join(" "),
      changeText(now.seconds, before.seconds),
    ],
    ["Accepted", percent(share(now)), percent(share(before)), ""],
  ];
  return (
    <section className="card start-card" aria-label="This week">
      <h2>This week</h2>
      <table className="start-weeks">
        <thead>
          <tr>
            <td />
            <th scope="col">last 7 days</th>
            <th scope="col">7 days before</th>
            <th scope="col">change</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, mine, theirs, change]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td className="num">{mine}</td>
              <td className="num">{theirs}</td>
              <td className="num muted">{change}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function percent(share: number | null): string {
  return share === null ? "none" : `${Math.round(100 * share)} %`;
}

/** Alarms of recorders at work, then what waits in the catalogue. */
function WaitingList({ overview }: { overview: WorkspaceOverview }) {
  const [feed] = useState(() => new LiveFeed());
  const view = useSyncExternalStore(feed.subscribe, feed.read);
  const mayRecord = useMay("ingest");
  const alarms = view.recorders.flatMap((recorder) =>
    alarmsOf(recorder)
      .filter(({ isLoud }) => isLoud)
      .map(({ key, sentence }) => ({ key, words: `${recorderName(recorder)}: ${sentence}` })),
  );
  const atWork = view.recorders.filter(({ status }) => status === "connected").length;
  return (
    <section className="card start-card" aria-label="Waiting for you">
      <h2>Waiting for you</h2>
      <ul className="start-waiting">
        {alarms.map(({ key, words }) => (
          <li key={key}>
            <Link href="/live" className="start-bad">
              {stopped(words)}
            </Link>
          </li>
        ))}
        {overview.waiting.map(({ kind, words, address }) => (
          <li key={address + words}>
            <Link href={address} className={kind === "halt" ? "start-bad" : undefined}>
              {words}
            </Link>
          </li>
        ))}
        {!alarms.length && !overview.waiting.length && <li className="muted">Nothing.</li>}
      </ul>
      {atWork > 0 && (
        <p>
          {count(atWork, "recorder")} at work: <Link href="/live">Live</Link>
          {mayRecord && (
            <>
              , <Link href="/floor">Floor</Link>
            </>
          )}
        </p>
      )}
    </section>
  );
}

function Recording({ row }: { row: ListedEpisode }) {
  return (
    <li className="start-recording">
      <Link href={`/episodes/${encodeURIComponent(row.id)}`}>
        <span className="start-picture">
          <Thumbnail id={row.id} width={320} at={tellingMoment(row)} />
          <span className="start-length num">{durationText(row.duration_s)}</span>
        </span>
        <span>
          <b>{nameOf(row)}</b> {row.task ?? "no task"}
        </span>
      </Link>
      <span className="start-line">
        <span className="muted">
          <time>{timeText(row.recorded_ns)}</time> {row.operator}
        </span>
        <VerdictChip verdict={row.verdict} decision={row.decision} assessed={row.assessed} />
      </span>
    </li>
  );
}
