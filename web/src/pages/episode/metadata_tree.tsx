import "./metadata_tree.css";

const MOST = 200;

/** Any JSON as a tree that is opened branch by branch. */
export function MetadataTree({ value }: { value: unknown }) {
  const items = entries(value);
  if (items.length === 0) return <p className="muted">Nothing is stated.</p>;
  return (
    <ul className="metadata">
      {items.slice(0, MOST).map(([name, each]) => (
        <li key={name}>
          {isBranch(each) ? (
            <details>
              <summary>
                {name} <span className="muted">{size(each)}</span>
              </summary>
              <MetadataTree value={each} />
            </details>
          ) : (
            <>
              <span className="metadata-name">{name}</span> {leaf(each)}
            </>
          )}
        </li>
      ))}
      {items.length > MOST && <li className="muted">and {items.length - MOST} more</li>}
    </ul>
  );
}

function entries(value: unknown): [string, unknown][] {
  return value !== null && typeof value === "object" ? Object.entries(value) : [];
}

function isBranch(value: unknown): boolean {
  return entries(value).length > 0;
}

function size(value: unknown): string {
  const count = entries(value).length;
  return Array.isArray(value) ? `[${count}]` : `{${count}}`;
}

function leaf(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "object") return Array.isArray(value) ? "[]" : "{}";
  return String(value).slice(0, 2000);
}
