import { useEffect, useState, useSyncExternalStore } from "react";
import { getBoard } from "../../api/board";
import { getCampaigns } from "../../api/campaigns";
import { browseAddress } from "../../api/dashboards";
import type { BoardCampaignFacts, BoardFacts } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { Link } from "../../parts/link";
import { Notice, Waiting } from "../../parts/notice";
import { count } from "../../parts/words";
import { LiveFeed } from "../live/live_feed";
import { type BoardLine, doneText, linesOf, moneyText, rateOf, tilesOf } from "./board_words";
import { StationTile } from "./station_tile";
import "./board.css";

const everyMs = 3000;
const forecastEveryMs = 60_000;
const linesShown = 8;

/** A whole floor at a glance: every station, what is wrong, what the day brings and costs. */
export default function Board(_: { address: URL }) {
  const [feed] = useState(() => new LiveFeed());
  const view = useSyncExternalStore(feed.subscribe, feed.read);
  const answer = useAnswer(getBoard, []);
  // When a campaign will be done follows from whole days: it need not be asked for as often.
  const forecasts = useAnswer(getCampaigns, []);
  useEvery(everyMs, answer.again);
  useEvery(forecastEveryMs, forecasts.again);
  if (answer.error && !answer.value) return <Notice error={answer.error} again={answer.again} />;
  if (!answer.value) return <Waiting what="Loading the board" />;
  const facts = answer.value;
  const lasts = new Map((forecasts.value ?? []).map((line) => [line.name, doneText(line)]));
  const tiles = tilesOf(facts, view.recorders);
  const lines = linesOf(facts, view.recorders);
  const recording = view.recorders.filter(({ health }) => health?.state === "recording").length;
  return (
    <div className="board">
      <header>
        <h1>Board</h1>
        <p className="muted">
          {facts.day}, {facts.now.slice(11, 16)} · {count(tiles.length, "station")}, {recording}{" "}
          recording{facts.hidden && " · names are not shown"}
        </p>
      </header>
      {view.link === "lost" && (
        <p className="board-lost" role="alert">
          {view.sentence || "Studio's server does not answer: what stations do now is not known."}
        </p>
      )}
      <Figures facts={facts} />
      <div className="board-columns">
        {tiles.length === 0 ? (
          <Nobody />
        ) : (
          <ul className="board-tiles" aria-label="Stations">
            {tiles.map((tile) => (
              <StationTile key={tile.name} tile={tile} board={facts} />
            ))}
          </ul>
        )}
        <aside className="board-side">
          <Alarms lines={lines} />
          <Campaigns campaigns={facts.campaigns} lasts={lasts} />
        </aside>
      </div>
    </div>
  );
}

/** Ask again and again as long as somebody looks. */
function useEvery(milliseconds: number, again: () => void) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: `again` does the same every time
  useEffect(() => {
    const timer = window.setInterval(() => {
      if (document.visibilityState === "visible") again();
    }, milliseconds);
    return () => window.clearInterval(timer);
  }, []);
}

function Figures({ facts }: { facts: BoardFacts }) {
  const rate = rateOf(facts.kept_per_hour, facts.target_per_hour);
  const share = facts.episodes ? (100 * facts.accepted) / facts.episodes : null;
  return (
    <dl className="board-figures">
      <div className="card">
        <dt>Kept today</dt>
        <dd>
          <Link href={browseAddress(facts.today_query) ?? "/episodes"}>
            {facts.accepted.toLocaleString("en")}
          </Link>
        </dd>
        <dd className="board-beside">
          of {count(facts.episodes, "take")}
          {share !== null && `, ${share.toFixed(0)} %`}
        </dd>
      </div>
      <div className={`card look-${rate.look}`}>
        <dt>Kept per station and hour</dt>
        <dd>{facts.kept_per_hour === null ? "–" : facts.kept_per_hour.toFixed(1)}</dd>
        <dd className="board-beside">
          {facts.target_per_hour === null ? "no target set" : `target ${facts.target_per_hour}`}
        </dd>
      </div>
      <div className="card">
        <dt>A kept take costs</dt>
        <dd>
          <Link href="/dashboards#cost">
            {facts.cost_per_kept === null ? "–" : moneyText(facts.cost_per_kept, facts.currency)}
          </Link>
        </dd>
        <dd className="board-beside">today, by what is assumed</dd>
      </div>
      <div className="card">
        <dt>Recorded</dt>
        <dd>{facts.recorded_h.toFixed(1)} h</dd>
        <dd className="board-beside">
          {count(facts.rejected, "take")} rejected
          {facts.unchecked > 0 && `, ${facts.unchecked} unchecked`}
        </dd>
      </div>
    </dl>
  );
}

function Alarms({ lines }: { lines: BoardLine[] }) {
  const shown = lines.slice(0, linesShown);
  return (
    <section className="card" aria-label="Alarms">
      <h2>Alarms {lines.length > 0 && <span className="board-count num">{lines.length}</span>}</h2>
      {lines.length === 0 && <p className="muted">Nothing is wrong.</p>}
      <ul className="board-alarms">
        {shown.map(({ key, station, sentence, address, evidence, isLoud }) => (
          <li key={key} className={isLoud ? "is-loud" : ""}>
            <p>
              {station && <b>{station} </b>}
              {sentence}
            </p>
            <Link href={address}>
              {evidence}
              <span className="spoken"> of {station ?? sentence}</span>
            </Link>
          </li>
        ))}
      </ul>
      {lines.length > shown.length && (
        <p className="muted">and {lines.length - shown.length} more</p>
      )}
    </section>
  );
}

function Campaigns({
  campaigns,
  lasts,
}: {
  campaigns: BoardCampaignFacts[];
  lasts: Map<string, string>;
}) {
  return (
    <section className="card" aria-label="Campaigns">
      <h2>Campaigns</h2>
      {campaigns.length === 0 && <p className="muted">None goes on.</p>}
      <ul className="board-campaigns">
        {campaigns.map(({ name, episodes, accepted, today }) => (
          <li key={name}>
            <p>
              <Link href={`/campaigns/${encodeURIComponent(name)}`}>
                {name.replaceAll("_", " ")}
              </Link>
              <span className="num">
                {accepted} of {episodes}
              </span>
            </p>
            <div className="board-bar">
              <span style={{ width: `${Math.min(100, (100 * (accepted - today)) / episodes)}%` }} />
              <i style={{ width: `${Math.min(100, (100 * today) / episodes)}%` }} />
            </div>
            <p className="muted">
              {today} today{lasts.get(name) && `, ${lasts.get(name)}`}
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Nobody() {
  return (
    <section className="card board-none">
      <h2>No station has recorded yet</h2>
      <p>A recorder appears here with the name of its station:</p>
      <pre>corporeal record --driver camera --station s1 --operator YOU -w LAB</pre>
      <p>To see a whole floor at work, with nobody on it:</p>
      <pre>corporeal floor demo</pre>
    </section>
  );
}
