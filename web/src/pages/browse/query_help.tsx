import { Dialog } from "../../parts/dialog";
import "./query_help.css";

const examples: [string, string][] = [
  ["failure = fall", "episodes in which the robot fell"],
  ["verdict = failed and task = pick_place", "failed ones of one task"],
  ["score > 0.8 and operator != anna", "good ones, of anyone else"],
  ["has finding robot_fell", "a check found something"],
  ["has finding severity fail", "any grave finding"],
  ["task in (reach, pick_place)", "one of several tasks"],
  ["instruction ~ box", "the instruction has this word in it"],
  ["recorded within 7 days", "not older than a week"],
  ["recorded >= 2026-11-01", "since a day, in UTC"],
  ["duration_s between 5 and 20", "from 5 to 20 seconds long"],
  ["station is unknown", "nobody said where"],
  ["not has stream observations/imu", "without this stream"],
  ["in release walks@1.0.0 split train", "part of a release"],
  ["metadata.floor = grass", "what the recorder noted"],
  ["score.hesitation < 0.3", "a part of the score"],
  ["assessed < 0.7", "few checks could run"],
  ["not_assessed = joints_swapped", "this check could not run"],
  ["tag = cable and decided_by is known", "a person tagged and decided"],
];

const fields: [string, string][] = [
  [
    "texts",
    "id file state verdict task instruction robot operator station session batch environment mode software failure hash",
  ],
  ["of which it may have several", "tag decided_by not_assessed practice"],
  ["numbers", "number score assessed duration_s bytes score.<part> rate.<stream> samples.<stream>"],
  ["dates", "recorded ingested"],
  ["yes or no", "success"],
  ["documents", "protocol calibration policy document.<kind>"],
  ["notes", "metadata.<key>"],
];

/** The language of queries on one page; an example can be taken over. */
export function QueryHelp({
  onClose,
  onTake,
}: {
  onClose: () => void;
  onTake: (query: string) => void;
}) {
  return (
    <Dialog title="Writing a query" onClose={onClose}>
      <div className="query-help">
        <p>
          Plain words find episodes too: <code>fall</code>, <code>green cylinder</code>,{" "}
          <code>#4</code> are looked for in task, instruction, people and places, file, failure,
          findings and tags.
        </p>
        <p>
          A query is clauses joined with <code>and</code>, <code>or</code>, <code>not</code> and
          parentheses; the same text works in <code>corporeal ls</code>. Values with blanks are
          written in quotes.
        </p>
        <h3>Examples: press one to try it</h3>
        <ul>
          {examples.map(([query, means]) => (
            <li key={query}>
              <button type="button" className="quiet" onClick={() => onTake(query)}>
                <code>{query}</code>
              </button>
              <span className="muted">{means}</span>
            </li>
          ))}
        </ul>
        <h3>Fields</h3>
        <dl>
          {fields.map(([kind, names]) => (
            <div key={kind}>
              <dt>{kind}</dt>
              <dd>
                <code>{names}</code>
              </dd>
            </div>
          ))}
        </dl>
        <h3>What is not known</h3>
        <p>
          An episode without an operator is not one of anna's: <code>operator != anna</code> holds
          for it. Add <code>and operator is known</code> to leave it out.
        </p>
      </div>
    </Dialog>
  );
}
