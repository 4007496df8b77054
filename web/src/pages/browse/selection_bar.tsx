import { useState } from "react";
import type { MarkTarget } from "../../api/marks";
import type { ListedEpisode } from "../../api/schema";
import { MarkBar } from "../../parts/mark_bar";
import { MOST_SIDES } from "../compare/sides";
import "./selection_bar.css";
import { countText } from "./wording";

interface Props {
  selected: ReadonlyMap<string, ListedEpisode>;
  /** The row that keys act on while nothing is selected. */
  current: ListedEpisode | undefined;
  query: string;
  total: number | null;
  isAll: boolean;
  onAll: (isAll: boolean) => void;
  onCompare: () => void;
  onClear: () => void;
}

/** What can be done with the episodes that were picked, or with all that match. */
export function SelectionBar(props: Props) {
  const { selected, current, query, total, isAll, onAll, onCompare, onClear } = props;
  const [said, setSaid] = useState("");
  const rows = [...selected.values()];
  const count = isAll && total !== null ? total : selected.size;
  const target: MarkTarget = isAll
    ? { query, expected: count }
    : { episodes: [...selected.keys()] };
  const bar = (
    <MarkBar
      target={target}
      keysOn={count ? target : { episodes: current ? [current.id] : [] }}
      count={count}
      query={isAll ? query : `number in (${rows.map((row) => row.number).join(", ")})`}
      tags={[...new Set((count ? rows : current ? [current] : []).flatMap((row) => row.tags))]}
      section="Episodes"
      isShown={count > 0}
    />
  );
  if (count === 0) return bar;
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
      <b className="num">{isAll ? `All ${countText(count)}` : count} selected</b>
      {!isAll && total !== null && total > selected.size && (
        <button type="button" className="quiet" onClick={() => onAll(true)}>
          Select all {countText(total)} that match
        </button>
      )}
      <button type="button" className="quiet" onClick={onClear}>
        Clear
      </button>
      {bar}
      {!isAll && (
        <span className="selection-bar-more">
          <button
            type="button"
            disabled={selected.size < 2 || selected.size > MOST_SIDES}
            onClick={onCompare}
          >
            Compare <kbd>c</kbd>
          </button>
          <button type="button" onClick={() => void copy()}>
            Copy ids
          </button>
        </span>
      )}
      <span role="status">{said}</span>
    </div>
  );
}
