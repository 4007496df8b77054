import { getRelaxed } from "../../api/episodes";
import { useSession } from "../../api/session";
import { useAnswer } from "../../api/use_answer";
import "./nothing_found.css";
import { countText } from "./wording";

/** A workspace without episodes tells how to fill it. */
export function EmptyWorkspace() {
  const { workspace } = useSession();
  return (
    <div className="nothing-found">
      <h2>No episodes in {workspace} yet</h2>
      <p>Put recordings in from a terminal, then come back:</p>
      <pre>
        <code>{"corporeal ingest recordings/*.h5"}</code>
      </pre>
      <p>
        Recordings of another format are converted first: <code>corporeal import --help</code>. To
        see Studio with made-up ones: <code>corporeal demo</code>.
      </p>
    </div>
  );
}

/** A query without a match tells which part of it to leave out. */
export function NoMatch({ query, onQuery }: { query: string; onQuery: (query: string) => void }) {
  const parts = useAnswer((signal) => getRelaxed(query, signal), [query]);
  const useful = parts.value?.filter((each) => each.count > 0) ?? [];
  return (
    <div className="nothing-found">
      <h2>No episode matches</h2>
      {useful.length > 0 && (
        <>
          <p>Leave out one part:</p>
          <ul>
            {useful.map((each) => (
              <li key={each.part}>
                <button type="button" onClick={() => onQuery(each.query)}>
                  <span>
                    without <code>{each.part}</code>
                  </span>
                  <span className="num muted">{countText(each.count)}</span>
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
      <button type="button" className="primary" onClick={() => onQuery("")}>
        Show all episodes
      </button>
    </div>
  );
}

/** A query that finds nothing because of a mistake in it, with what was meant where that is near. */
export function WrongQuery({
  query,
  error,
  onQuery,
  onHelp,
}: {
  query: string;
  error: Error;
  onQuery: (query: string) => void;
  onHelp: () => void;
}) {
  const meant = meantBy(query, error.message);
  return (
    <div className="nothing-found">
      <h2>There is a mistake in the query</h2>
      {meant === null ? (
        <p>
          What is wrong stands below its line. Change it there, look at examples, or begin anew.
        </p>
      ) : (
        <p>
          <button type="button" onClick={() => onQuery(meant)}>
            Search for <code>{meant}</code>
          </button>
        </p>
      )}
      <p>
        <button type="button" onClick={onHelp}>
          Examples
        </button>{" "}
        <button type="button" className="primary" onClick={() => onQuery("")}>
          Show all episodes
        </button>
      </p>
    </div>
  );
}

/** The query with the nearest name in place of the wrong one, where the server knows it. */
export function meantBy(query: string, sentence: string): string | null {
  const wrong = /'([^']+)'/.exec(sentence)?.[1];
  const right = /[Dd]id you mean '?([^'?]+?)'?\?/.exec(sentence)?.[1];
  if (!wrong || !right || !query.includes(wrong)) return null;
  const quoted = /^[\w.@#-]+$/.test(right) ? right : `"${right}"`;
  return query.replace(`"${wrong}"`, quoted).replace(wrong, quoted);
}
