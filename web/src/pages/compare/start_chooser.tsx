import { useDeferredValue, useState } from "react";
import { getRows } from "../../api/episodes";
import { nameOf } from "../../api/names";
import { useAnswer } from "../../api/use_answer";
import { Link } from "../../parts/link";
import { Notice, VerdictChip } from "../../parts/notice";
import { dateText } from "../episode/wording";
import "./chooser.css";

const MOST = 20;

/** The first episode of a comparison, where the address names none. */
export function StartChooser() {
  const [words, setWords] = useState("");
  const asked = useDeferredValue(words);
  const { value, error, again } = useAnswer(
    (signal) => getRows(asked, "-recorded", undefined, MOST, signal),
    [asked],
  );
  return (
    <div className="chooser">
      <p>
        <Link href="/episodes">‹ Episodes</Link>
      </p>
      <h1>Compare which episode?</h1>
      <p className="muted">
        Choose one here, then the other. In the list, mark two or more with <kbd>x</kbd> and press{" "}
        <kbd>c</kbd>.
      </p>
      <label>
        Words or a query{" "}
        <input
          type="search"
          value={words}
          // biome-ignore lint/a11y/noAutofocus: the page has nothing else to do
          autoFocus
          maxLength={200}
          placeholder="the newest"
          onChange={(event) => setWords(event.target.value)}
        />
      </label>
      {error && <Notice error={error} again={again} />}
      {value?.rows.length === 0 && <p className="muted">No episode is found by that.</p>}
      <ul>
        {value?.rows.map((row) => (
          <li key={row.id}>
            <Link className="chooser-choice" href={`/compare?a=${encodeURIComponent(row.id)}`}>
              <b title={row.file}>{nameOf(row)}</b>
              <VerdictChip verdict={row.verdict} decision={row.decision} assessed={row.assessed} />
              <span className="muted">
                {[row.task, row.operator, dateText(row.recorded_ns)].filter(Boolean).join(" · ")}
              </span>
              <span className="num">{row.score === null ? "–" : row.score.toFixed(2)}</span>
            </Link>
          </li>
        ))}
      </ul>
    </div>
  );
}
