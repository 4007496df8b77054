import { useState } from "react";
import type { ListedEpisode } from "../../api/schema";
import "./selection_bar.css";

interface Props {
  selected: ReadonlyMap<string, ListedEpisode>;
  onCompare: () => void;
  onClear: () => void;
}

/** What can be done with the episodes that were picked. */
export function SelectionBar({ selected, onCompare, onClear }: Props) {
  const [said, setSaid] = useState("");
  if (selected.size === 0) return null;
  const copy = async () => {
    try {
      await navigator.clipboard.writeText([...selected.keys()].join("\n"));
      setSaid("Copied.");
    } catch {
      setSaid("The browser does not let Studio copy here.");
    }
  };
  return (
    <div className="selection-bar" role="region" aria-label="Selection">
      <b className="num">{selected.size} selected</b>
      <button type="button" className="primary" disabled={selected.size !== 2} onClick={onCompare}>
        Compare <kbd>c</kbd>
      </button>
      <button type="button" onClick={() => void copy()}>
        Copy ids
      </button>
      <button type="button" onClick={onClear}>
        Clear
      </button>
      <span role="status">{said || (selected.size === 2 ? "" : "Pick two to compare them.")}</span>
    </div>
  );
}
