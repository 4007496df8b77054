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
        {value.title}
        {value.unit !== "1" && <span className="muted"> Values and limits are in {value.unit}.</span>}
      </dd>
      {value.why && <dt>Why it matters</dt>}
      {value.why && <dd>{sentence(value.why)}</dd>}
      {value.fix && <dt>What to do</dt>}
      {value.fix && <dd>{sentence(value.fix)}</dd>}
    </dl>
  );
}

function sentence(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
