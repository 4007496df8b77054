import { getLineage } from "../../api/facts";
import type { EpisodeDetail, Lineage, LineageEdge } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { Link } from "../../parts/link";
import { Notice, Waiting } from "../../parts/notice";
import "./lineage_tab.css";

/** What the episode came from and what became of it. */
export function LineageTab({ episode }: { episode: EpisodeDetail }) {
  const { value, error, again } = useAnswer(
    (signal) => getLineage(episode.id, signal),
    [episode.id],
  );
  if (error) return <Notice error={error} again={again} />;
  if (!value) return <Waiting what="Tracing" />;
  const { subject, edges } = value;
  return (
    <div className="lineage">
      <h3>Inputs</h3>
      <Branch
        lineage={value}
        edges={edges.filter(({ child }) => child === subject)}
        way="up"
        seen={[subject]}
      />
      <p className="lineage-self">{label(value, subject)}</p>
      <h3>Outputs</h3>
      <Branch
        lineage={value}
        edges={edges.filter(({ parent }) => parent === subject)}
        way="down"
        seen={[subject]}
      />
    </div>
  );
}

interface BranchProps {
  lineage: Lineage;
  edges: LineageEdge[];
  way: "up" | "down";
  seen: string[];
}

function Branch({ lineage, edges, way, seen }: BranchProps) {
  if (edges.length === 0) {
    if (seen.length > 1) return null;
    return (
      <p className="muted">
        {way === "up"
          ? "Nothing is known of it."
          : "It is in no release, and nothing was made of it."}
      </p>
    );
  }
  return (
    <ul>
      {edges.map((edge) => {
        const far = way === "up" ? edge.parent : edge.child;
        const next = lineage.edges.filter(
          (each) => (way === "up" ? each.child : each.parent) === far,
        );
        return (
          <li key={`${far} ${edge.relation}`}>
            <span className="muted">{edge.relation.replaceAll("_", " ")}</span>{" "}
            <Node lineage={lineage} id={far} />
            {!seen.includes(far) && (
              <Branch lineage={lineage} edges={next} way={way} seen={[...seen, far]} />
            )}
          </li>
        );
      })}
    </ul>
  );
}

/** A link where Studio has something to show: another episode, or the list of what shares it. */
function Node({ lineage, id }: { lineage: Lineage; id: string }) {
  const [kind = "", ...rest] = id.split(":");
  const own = rest.join(":");
  const text = label(lineage, id);
  if (kind === "episode") return <Link href={`/episodes/${encodeURIComponent(own)}`}>{text}</Link>;
  if (["session", "operator", "station", "batch"].includes(kind)) {
    return (
      <Link href={`/episodes?query=${encodeURIComponent(`${kind} = ${quoted(own)}`)}`}>{text}</Link>
    );
  }
  return <span title={id}>{text}</span>;
}

function quoted(value: string): string {
  return /^[A-Za-z0-9_.-]+$/.test(value)
    ? value
    : `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

function label(lineage: Lineage, id: string): string {
  return lineage.nodes.find((node) => node.id === id)?.label ?? id;
}
