import { useEffect, useState } from "react";
import type { Tint } from "./limits";
import type { SceneModel, ShownParts } from "./scene_model";

/** What the colours in the picture mean; only those that are in it. */
export function SceneLegend({ show, shown }: { show: SceneModel; shown: ShownParts }) {
  const { warn, bad, ghost } = show.palette;
  const [tints, setTints] = useState<ReadonlySet<Tint>>(new Set());
  useEffect(() => {
    let last = "";
    show.onTints = (found) => {
      const key = [...found].sort().join();
      if (key !== last) setTints(found);
      last = key;
    };
    show.show(show.shown);
    return () => {
      show.onTints = () => undefined;
    };
  }, [show]);
  const entries: [string, string][] = [];
  if (tints.has("warn")) entries.push([warn.getStyle(), "joint at its limit"]);
  if (tints.has("bad")) entries.push([bad.getStyle(), "joint beyond its limit"]);
  if (shown.ghost && show.ghost) entries.push([ghost.getStyle(), "commanded pose"]);
  if (!entries.length) return null;
  return (
    <p className="scene-legend">
      {entries.map(([colour, word]) => (
        <span key={word}>
          <i style={{ background: colour }} />
          {word}
        </span>
      ))}
    </p>
  );
}
