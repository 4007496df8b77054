import { type FormEvent, useEffect, useState } from "react";
import { type Draw, getPreview, makeReview } from "../../api/review";
import { useAnswer } from "../../api/use_answer";
import "./create_form.css";
import { sentence } from "./wording";

export interface CreateFormProps {
  onMade: (name: string) => void;
  onCancel: (() => void) | null;
}

const SHARES = { low: 10, usual: 12, high: 15 };

/** Makes a review, and says what it will prove before it is made. */
export function CreateForm({ onMade, onCancel }: CreateFormProps) {
  const [name, setName] = useState(`review-${new Date().toISOString().slice(0, 10)}`);
  const [query, setQuery] = useState(
    () => new URL(window.location.href).searchParams.get("query") ?? "",
  );
  const [share, setShare] = useState(String(SHARES.usual));
  const [limit, setLimit] = useState("");
  const [all, setAll] = useState(false);
  const [seed, setSeed] = useState("0");
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const draw: Draw = {
    query,
    share: Number(share) / 100,
    limit: limit ? Number(limit) / 100 : null,
    all_quarantined: all,
  };
  const make = (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    makeReview(name.trim(), draw, Number(seed) || 0).then(
      (made) => onMade(made.name),
      (reason: Error) => {
        setError(reason.message);
        setBusy(false);
      },
    );
  };
  return (
    <form className="card review-form" aria-label="New review" onSubmit={make}>
      <h2>New review</h2>
      <label className="review-form-wide">
        Which episodes
        <input
          value={query}
          onChange={(event) => setQuery(event.target.value)}
          placeholder="batch = monday and task = reach"
          spellCheck={false}
          autoComplete="off"
        />
        <small className="muted">
          As in the list of episodes. Empty: all accepted and quarantined ones that nobody has
          reviewed.
        </small>
      </label>
      <label>
        Sample size, in %
        <input
          type="number"
          min={0.1}
          max={100}
          step="any"
          required
          value={share}
          onChange={(event) => setShare(event.target.value)}
        />
        <small className="muted">
          {SHARES.low} to {SHARES.high} is usual.
        </small>
      </label>
      <label>
        Maximum defect rate, in %
        <input
          type="number"
          min={0.1}
          max={99}
          step="any"
          value={limit}
          onChange={(event) => setLimit(event.target.value)}
          placeholder="no limit"
        />
        <small className="muted">With a limit, as many are drawn as it takes to prove it.</small>
      </label>
      <label>
        Name
        <input
          required
          pattern="[a-z0-9][a-z0-9._\-]*"
          maxLength={64}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      <label>
        Seed
        <input
          type="number"
          min={0}
          max={2147483647}
          step={1}
          value={seed}
          onChange={(event) => setSeed(event.target.value)}
        />
        <small className="muted">The same seed draws the same episodes.</small>
      </label>
      <label className="review-form-wide review-form-check">
        <input type="checkbox" checked={all} onChange={(event) => setAll(event.target.checked)} />
        Look at every quarantined episode, too
      </label>
      <Preview draw={draw} />
      {error && (
        <p className="review-form-error" role="alert">
          {error}
        </p>
      )}
      <div className="review-form-buttons">
        <button type="submit" className="primary" disabled={isBusy}>
          Create review
        </button>
        {onCancel && (
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
        )}
      </div>
    </form>
  );
}

/** What the sample will prove, a moment after the last change. */
function Preview({ draw }: { draw: Draw }) {
  const [settled, setSettled] = useState(draw);
  const text = JSON.stringify(draw);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(JSON.parse(text) as Draw), 250);
    return () => clearTimeout(timer);
  }, [text]);
  const answer = useAnswer((signal) => getPreview(settled, signal), [settled]);
  const plan = answer.value;
  let said = "Counting…";
  if (answer.error) said = answer.error.message;
  else if (plan?.lot === 0) said = "No episode that nobody has reviewed is found.";
  else if (plan) said = sentence(plan.words);
  return (
    <output
      className={`review-form-plan${answer.error || plan?.accept === null ? " review-form-doubt" : ""}`}
    >
      {said}
    </output>
  );
}
