import { getCheck } from "../../api/facts";
import { useAnswer } from "../../api/use_answer";
import "./check_words.css";

/** A check in its own words: what it looks at, why that matters, what to do. */
export function CheckWords({ name }: { name: string }) {
  const { value, error } = useAnswer((signal) => getCheck(name, signal), [name]);
  if (error) return <p className="muted">{error.message}</p>;
  if (!value) return null;
  return (
    <dl className="check-words">
      <dt>A good episode</dt>
      <dd>
        {value.good}
        {value.unit !== "1" && (
          <span className="muted"> Values and limits are in {value.unit}.</span>
        )}
      </dd>
      {value.why && <dt>Why it matters</dt>}
      {value.why && <dd>{value.why}</dd>}
      {value.fix && <dt>What to do</dt>}
      {value.fix && <dd>{value.fix}</dd>}
    </dl>
  );
}
