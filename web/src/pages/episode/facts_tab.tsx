import { getHistory } from "../../api/facts";
import type { EpisodeDetail } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { ConsentFact } from "./consent_fact";
import "./facts_tab.css";
import { MetadataTree } from "./metadata_tree";
import { StreamTable } from "./stream_table";
import { bytesText, dateText, durationText } from "./wording";

/** Who, when, where, with what; the streams; the metadata; the papers; what happened to it. */
export function FactsTab({ episode }: { episode: EpisodeDetail }) {
  const { row } = episode;
  const facts: [string, string | null | undefined][] = [
    ["Recorded", dateText(row.recorded_ns)],
    ["Duration", durationText(row.duration_s)],
    [
      "Outcome",
      row.success === null
        ? null
        : row.success
          ? "success"
          : `failure${row.failure ? `: ${row.failure}` : ""}`,
    ],
    ["Operator", row.operator],
    ["Station", row.station],
    ["Session", row.session],
    ["Batch", row.batch],
    ["Robot", row.robot],
    ["Software", text(row.software)],
    ["Mode", text(row.mode)],
    ["Environment", text(row.environment)],
    ["Calibration", text(row.calibration)],
    ["Protocol", text(row.protocol)],
    ["Policy", text(row.policy)],
    ["State", row.state],
    ["Ingested", text(row.ingested_at)?.slice(0, 19).replace("T", " ")],
    ["File", `${row.file}, ${bytesText(row.bytes)}`],
    ["Id", row.id],
    ["Hash", row.hash],
    ["Releases", episode.releases.join(", ") || "in none"],
  ];
  return (
    <div className="facts">
      <dl>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd className={value ? undefined : "muted"}>{value || "not stated"}</dd>
          </div>
        ))}
        <ConsentFact metadata={episode.metadata} />
      </dl>
      <h3>Streams</h3>
      <StreamTable streams={episode.streams} />
      <Papers id={episode.id} />
      <h3>Metadata</h3>
      <MetadataTree value={episode.metadata} />
    </div>
  );
}

function text(value: unknown): string | null {
  return typeof value === "string" && value ? value : null;
}

/** Documents that stand behind it, and its way from state to state. */
function Papers({ id }: { id: string }) {
  const { value, error } = useAnswer((signal) => getHistory(id, signal), [id]);
  if (error) return <p className="muted">{error.message}</p>;
  if (!value) return null;
  return (
    <>
      <h3>Documents</h3>
      <ul className="facts-papers">
        {value.documents.map(({ kind, name, version, hash }) => (
          <li key={kind}>
            {kind}: <b>{version ? `${name}@${version}` : name}</b>{" "}
            <code title={hash}>{hash.slice(0, 19)}…</code>
          </li>
        ))}
      </ul>
      <h3>History</h3>
      <ol className="facts-papers">
        {value.changes.map(({ at, who, what, state, why }, place) => (
          <li key={place}>
            <time dateTime={at}>{at.slice(0, 19).replace("T", " ")}</time>{" "}
            {what === "state" ? "became" : `${what}:`} <b>{state ?? ""}</b>{" "}
            <span className="muted">by {who}</span>
            {why && <p className="muted">{why}</p>}
          </li>
        ))}
      </ol>
    </>
  );
}
