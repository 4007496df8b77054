import type { RobotFacts } from "../api/schema";

/** Which robot this is, and what of it cannot be shown and why; closed until somebody asks. */
export function SceneNotes({ facts }: { facts: RobotFacts }) {
  const name = facts.model
    ? [facts.model.maker, facts.model.name].filter(Boolean).join(" ")
    : "No robot";
  if (!facts.missing.length) return <p className="scene-name">{name}</p>;
  return (
    <details className="scene-notes" open={!facts.measured && facts.model !== null}>
      <summary>
        {name}{" "}
        <span className="scene-notes-count">
          {facts.missing.length === 1 ? "1 note" : `${facts.missing.length} notes`}
        </span>
      </summary>
      <ul>
        {facts.missing.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </details>
  );
}
