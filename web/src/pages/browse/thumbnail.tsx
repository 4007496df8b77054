import { useEffect, useState } from "react";
import { thumbnailAddress } from "../../api/episodes";
import "./thumbnail.css";

// Pictures of rows that only fly past are not asked for.
const restMs = 90;
const seen = new Set<string>();
const missing = new Set<string>();

/** A small picture of an episode; a drawing where no camera looked. */
export function Thumbnail({ id, width, at }: { id: string; width: number; at?: number }) {
  const source = thumbnailAddress(id, width, at);
  const [rested, setRested] = useState(seen.has(source));
  const [isMissing, setMissing] = useState(missing.has(id));
  useEffect(() => {
    setMissing(missing.has(id));
    if (seen.has(source)) {
      setRested(true);
      return;
    }
    const timer = setTimeout(() => setRested(true), restMs);
    return () => clearTimeout(timer);
  }, [id, source]);
  if (isMissing) return <NoPicture />;
  return (
    <span className="thumbnail">
      {rested && (
        <img
          src={source}
          alt=""
          decoding="async"
          draggable={false}
          onLoad={() => {
            if (seen.size > 5000) seen.clear();
            seen.add(source);
          }}
          onError={() => {
            missing.add(id);
            setMissing(true);
          }}
        />
      )}
    </span>
  );
}

function NoPicture() {
  return (
    <span className="thumbnail thumbnail-none" title="No camera in this episode">
      <svg viewBox="0 0 64 48" aria-hidden>
        <circle cx="32" cy="13" r="5" />
        <path d="M32 18v13M22 23h20M32 31l-7 11M32 31l7 11" />
      </svg>
    </span>
  );
}
