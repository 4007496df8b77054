import type { ReactNode } from "react";
import { browseAddress } from "../../api/dashboards";
import type { BoardFacts } from "../../api/schema";
import { Link } from "../../parts/link";
import { floorOf } from "../floor/floor_state";
import {
  breakOf,
  calibrationOf,
  doesOf,
  lampsOfTile,
  leftOf,
  rateOf,
  type Said,
  type Tile,
  taskOf,
  whoOf,
} from "./board_words";

const marks: Record<string, string> = {
  accepted: "✓",
  quarantined: "?",
  failed: "×",
  unchecked: "·",
};

/** One station: what it does, who is there, its last ten verdicts and what is due. */
export function StationTile({ tile, board }: { tile: Tile; board: BoardFacts }) {
  const does = doesOf(tile);
  const health = tile.recorder?.health ?? null;
  const isThere = tile.recorder?.status === "connected";
  const who = whoOf(tile, board);
  const instruction = isThere ? floorOf(health).instruction : "";
  const atWork = Boolean(health?.facts?.operator) && isThere;
  return (
    <li className={`card board-tile is-${does.colour}`}>
      <div className="tile-head">
        <h2>{tile.name}</h2>
        <span className="tile-does num">{does.text}</span>
      </div>
      <p className="tile-who">{[who, taskOf(tile)].filter(Boolean).join(" · ") || "no task yet"}</p>
      <p className="tile-card" title={instruction}>
        {instruction}
      </p>
      <LastTakes tile={tile} />
      <dl className="tile-facts">
        <Fact name="Rate" said={rateOf(tile.facts?.per_hour, board.target_per_hour)} />
        <Fact name="Kept today">
          <Link href={browseAddress(tile.facts?.today_query ?? null) ?? "/episodes"}>
            {tile.facts?.accepted ?? 0} of {tile.facts?.today ?? 0} kept
            <span className="spoken"> today at {tile.name}</span>
          </Link>
        </Fact>
        <Fact name="Break" said={breakOf(atWork ? health?.work : null)} />
        <Fact name="Calibration" said={calibrationOf(tile, board.now)} />
        <Fact name="Coverage left" isWide>
          {leftOf(tile) ?? "no campaign"}
        </Fact>
      </dl>
      <ul className="tile-lamps" aria-label={`Lamps of ${tile.name}`}>
        {lampsOfTile(tile).map(({ name, state, words }) => (
          <li key={name} className={`lamp-${state}`} title={`${name}: ${words}`}>
            {name}
            <span className="spoken">: {words}</span>
          </li>
        ))}
      </ul>
    </li>
  );
}

function Fact({
  name,
  said,
  isWide,
  children,
}: {
  name: string;
  said?: Said;
  isWide?: boolean;
  children?: ReactNode;
}) {
  return (
    <div className={`look-${said?.look ?? "plain"}${isWide ? " is-wide" : ""}`} title={name}>
      <dt className="spoken">{name}</dt>
      <dd>{said?.words ?? children}</dd>
    </div>
  );
}

/** The verdicts of the last ten takes, the newest on the right. */
function LastTakes({ tile }: { tile: Tile }) {
  const latest = tile.facts?.latest ?? [];
  return (
    <ol className="tile-takes" aria-label={`Last takes of ${tile.name}`}>
      {latest.map(({ number, outcome }) => (
        <li key={number}>
          <Link
            href={`/episodes/${number}`}
            className={`take-${outcome}`}
            title={`#${number}: ${outcome}`}
          >
            <span aria-hidden>{marks[outcome] ?? "·"}</span>
            <span className="spoken">
              Episode {number}: {outcome}
            </span>
          </Link>
        </li>
      ))}
      {latest.length === 0 && <li className="muted">no takes yet</li>}
    </ol>
  );
}
