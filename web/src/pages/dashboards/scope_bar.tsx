import { type FormEvent, useEffect, useRef, useState } from "react";
import type { Scope } from "../../api/dashboards";
import { useShortcuts } from "../../parts/shortcuts";

const ranges: [string, number | null][] = [
  ["7 days", 7],
  ["30 days", 30],
  ["90 days", 90],
  ["All", null],
];

interface Props {
  scope: Scope;
  onChange: (scope: Scope) => void;
}

/** Which episodes all charts are about. */
export function ScopeBar({ scope, onChange }: Props) {
  const [text, setText] = useState(scope.query);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => setText(scope.query), [scope.query]);
  useShortcuts("Dashboards", [
    {
      keys: ["/"],
      does: "Write which episodes the charts are about",
      run: () => input.current?.focus(),
    },
  ]);
  const ask = (event: FormEvent) => {
    event.preventDefault();
    onChange({ ...scope, query: text.trim() });
  };
  return (
    <form className="scope-bar" role="search" aria-label="Episodes in the charts" onSubmit={ask}>
      <label className="scope-query">
        <span>Episodes</span>
        <input
          ref={input}
          value={text}
          spellCheck={false}
          autoComplete="off"
          placeholder="all of them, or: task = pick_place and station = st3"
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      <button type="submit">Apply</button>
      {scope.query && (
        <button type="button" className="quiet" onClick={() => onChange({ ...scope, query: "" })}>
          Clear
        </button>
      )}
      <span className="scope-ranges" role="group" aria-label="Recorded in the last">
        {ranges.map(([label, days]) => (
          <button
            key={label}
            type="button"
            aria-pressed={scope.days === days}
            onClick={() => onChange({ ...scope, days })}
          >
            {label}
          </button>
        ))}
      </span>
    </form>
  );
}
