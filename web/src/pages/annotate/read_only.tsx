import type { WorkbenchTask } from "../../api/schema";
import { clockText } from "../../player/clock";
import { FrameLine } from "./frame_line";
import { inkOf, words } from "./label_keys";
import { inLane } from "./segments";
import "./bench_side.css";
import "./workbench.css";

/** What was said, to read: frames cannot be told apart on a small screen. */
export function ReadOnly({ task, stamps }: { task: WorkbenchTask; stamps: ArrayLike<number> }) {
  const { content, taxonomy } = task;
  const line = new FrameLine(stamps, task.end_ns);
  return (
    <div className="bench-small">
      <p className="bench-bar" role="status">
        Labelling needs a screen at least 900 pixels wide, to tell one frame from the next. Here you
        can read what was said.
      </p>
      {taxonomy.lanes.map((lane) => {
        const segments = inLane(content, lane.name);
        if (!segments.length) return null;
        return (
          <section key={lane.name}>
            <h2>{lane.title}</h2>
            <ul className="bench-small-list">
              {segments.map((each) => (
                <li
                  key={each.id}
                  style={{ "--ink-of": inkOf(lane, each.label) } as React.CSSProperties}
                >
                  <span className="label-dot" aria-hidden />
                  <b>{words(each.label)}</b>
                  <span className="muted num">
                    {clockText(each.start_ns)} to {clockText(each.end_ns)}, frame{" "}
                    {line.frameOf(each.start_ns)} to {line.frameOf(each.end_ns)}
                  </span>
                  {!each.confirmed && <span className="chip">proposed</span>}
                </li>
              ))}
            </ul>
          </section>
        );
      })}
      <section>
        <h2>Episode</h2>
        <p>
          Outcome: {content.outcome ?? "missing"}
          {content.failure_mode ? `, ${words(content.failure_mode)}` : ""}
        </p>
        <ul>
          {content.instructions.map((each) => (
            <li key={each.id}>“{each.text}”</li>
          ))}
        </ul>
      </section>
    </div>
  );
}
