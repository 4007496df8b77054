import { useEffect } from "react";
import { getMissing } from "../../api/annotation";
import { type Answer, useAnswer } from "../../api/use_answer";
import { accept } from "./actions";
import { showMoment } from "./play_around";
import type { Bench } from "./use_bench";

/** What the server says is missing, asked again whenever something was saved. */
export function useMissing(bench: Bench): Answer<{ version: number; missing: string[] }> {
  const { waiting, history } = bench.work;
  const answer = useAnswer((signal) => getMissing(bench.task.id, signal), [bench.task.id]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked again for what was saved, not for a new question
  useEffect(() => {
    if (waiting) return;
    const timer = setTimeout(answer.again, 250);
    return () => clearTimeout(timer);
  }, [waiting, history.content]);
  return answer;
}

/** The moment that a sentence speaks of. */
export function momentIn(sentence: string): number | null {
  const found = /(-?\d+\.\d{3}) s\b/.exec(sentence);
  return found ? Math.round(Number(found[1]) * 1e9) : null;
}

/** How the server speaks of a proposal; they are one line here, since Enter leads through them. */
const unconfirmed = "nobody has confirmed it.";

export interface MissingProps {
  bench: Bench;
  missing: string[] | null;
  onTab: (tab: "label" | "episode") => void;
}

/** Everything between here and handing in; each line leads to where it is mended. */
export function Missing({ bench, missing, onTab }: MissingProps) {
  const jump = (sentence: string) => {
    const at = momentIn(sentence);
    if (at === null) {
      onTab("episode");
      return;
    }
    // Sentences round to a millisecond: the boundary meant is the nearest one.
    const stop = bench.stops
      .filter((each) => Math.abs(each.timeNs - at) < 2e6)
      .sort((a, b) => Number(a.confirmed) - Number(b.confirmed))
      .find((each) =>
        sentence.includes(bench.content.segments.find(({ id }) => id === each.id)?.label ?? "\n"),
      );
    if (stop) bench.select(stop, "show");
    else {
      bench.select(null);
      showMoment(bench.clock, bench.line.nearest(at));
    }
    onTab("label");
  };
  if (!missing) return null;
  const rest = missing.filter((each) => !each.endsWith(unconfirmed));
  const open = missing.length - rest.length;
  return (
    <section className="missing" aria-label="To do before submitting">
      <h3>
        To do before submitting <span className="chip num">{rest.length + Number(open > 0)}</span>
      </h3>
      {!missing.length && (
        <p className="missing-none">Nothing: it can be submitted (Ctrl+Enter).</p>
      )}
      <ul>
        {open > 0 && (
          <li>
            <button
              type="button"
              className="quiet"
              onClick={() => accept({ ...bench, segment: null, selected: null })}
            >
              {open === 1 ? "One proposal is" : `${open} proposals are`} not confirmed yet.
            </button>
          </li>
        )}
        {rest.map((each, place) => (
          <li key={`${place} ${each}`}>
            <button type="button" className="quiet" onClick={() => jump(each)}>
              {each}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
