import type { ShareFacts } from "../api/schema";

/** Links that were made earlier and still work, each with a way to end it. */
export function ShareList({
  shares,
  onEnd,
}: {
  shares: ShareFacts[];
  onEnd: (id: string) => void;
}) {
  if (!shares.length) return null;
  return (
    <>
      <h3>Links that work now</h3>
      <ul className="share-list">
        {shares.map((share) => (
          <li key={share.id}>
            <span>
              <b>{share.label || "without a name"}</b>
              <span className="muted">
                {" "}
                by {share.created_by}, until {share.expires_at?.slice(0, 10) ?? "it is revoked"}
                {share.episodes.length > 1 && `, ${share.episodes.length} episodes`}
              </span>
            </span>
            <button
              type="button"
              aria-label={`Revoke the link ${share.label || share.id}`}
              onClick={() => onEnd(share.id)}
            >
              Revoke
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
