import { type FormEvent, type ReactNode, useEffect, useState } from "react";
import { getQueuePreview, getTaxonomies, makeQueue, type QueueWish } from "../../api/labels";
import type { NewQueue } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";

interface Props {
  onMade: () => void;
  onCancel: (() => void) | null;
}

const LEAST_DOUBLE = 10;

/** Makes a queue from a query, and says what it will hold before it is made. */
export function QueueForm({ onMade, onCancel }: Props) {
  const taxonomies = useAnswer(getTaxonomies, []);
  const [wanted, setWanted] = useState<Required<NewQueue>>(() => ({
    name: `labels-${new Date().toISOString().slice(0, 10)}`,
    query: new URL(window.location.href).searchParams.get("query") ?? "",
    taxonomy: "",
    double_share: 0.1,
    blind_share: 0.1,
    skip_labelled: true,
    needs_qualification: false,
    kind: "annotate",
  }));
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const set = (part: Partial<NewQueue>) => setWanted({ ...wanted, ...part });
  const isTest = wanted.kind === "qualify";
  const full = { ...wanted, taxonomy: wanted.taxonomy || (taxonomies.value?.[0]?.reference ?? "") };
  const make = (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    makeQueue({ ...full, name: wanted.name.trim() }).then(onMade, (reason: Error) => {
      setError(reason.message);
      setBusy(false);
    });
  };
  return (
    <form className="card queue-form" aria-label="New queue" onSubmit={make}>
      <h2>New queue</h2>
      <label className="queue-form-wide">
        Which episodes
        <input
          value={wanted.query}
          onChange={(event) => set({ query: event.target.value })}
          placeholder="task = pick_place and state = accepted"
          spellCheck={false}
          autoComplete="off"
        />
        <small className="muted">
          {isTest
            ? "As in the list of episodes. Those with accepted labels become the test; the labels are what people are measured by."
            : "As in the list of episodes. Empty: all of them."}
        </small>
      </label>
      <label>
        Purpose
        <select
          value={wanted.kind}
          onChange={(event) => set({ kind: event.target.value as NewQueue["kind"] })}
        >
          <option value="annotate">Production</option>
          <option value="qualify">Qualification of annotators</option>
        </select>
      </label>
      <label>
        Taxonomy
        <select value={full.taxonomy} onChange={(event) => set({ taxonomy: event.target.value })}>
          {taxonomies.value?.map((each) => (
            <option key={each.reference} value={each.reference}>
              {each.reference}
            </option>
          ))}
        </select>
        <small className="muted">The newest version first.</small>
      </label>
      <Percent
        label="Labelled by two people, in %"
        least={LEAST_DOUBLE}
        share={wanted.double_share}
        onChange={(double_share) => set({ double_share })}
        isOff={isTest}
      >
        They do not see each other. At least {LEAST_DOUBLE}.
      </Percent>
      <Percent
        label="Without a proposal, in %"
        least={0}
        share={wanted.blind_share}
        onChange={(blind_share) => set({ blind_share })}
        isOff={isTest}
      >
        Shows how far proposals sway people.
      </Percent>
      <label>
        Name
        <input
          required
          pattern="[a-z0-9][a-z0-9._\-]*"
          maxLength={64}
          value={wanted.name}
          onChange={(event) => set({ name: event.target.value })}
        />
      </label>
      {!isTest && (
        <>
          <label className="queue-form-wide queue-form-check">
            <input
              type="checkbox"
              checked={wanted.skip_labelled}
              onChange={(event) => set({ skip_labelled: event.target.checked })}
            />
            Leave out episodes whose labels count already
          </label>
          <label className="queue-form-wide queue-form-check">
            <input
              type="checkbox"
              checked={wanted.needs_qualification}
              onChange={(event) => set({ needs_qualification: event.target.checked })}
            />
            Only for people who have qualified for this taxonomy
          </label>
        </>
      )}
      {full.taxonomy && <Preview wish={full} />}
      {error && (
        <p className="labels-error" role="alert">
          {error}
        </p>
      )}
      <div className="queue-form-buttons">
        <button type="submit" className="primary" disabled={isBusy || !full.taxonomy}>
          Make the queue
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

interface PercentProps {
  label: string;
  least: number;
  share: number;
  onChange: (share: number) => void;
  isOff: boolean;
  children: ReactNode;
}

function Percent({ label, least, share, onChange, isOff, children }: PercentProps) {
  const [text, setText] = useState(String(Math.round(share * 100)));
  const change = (said: string) => {
    setText(said);
    if (said !== "" && Number.isFinite(Number(said))) onChange(Number(said) / 100);
  };
  return (
    <label>
      {label}
      <input
        type="number"
        required
        min={least}
        max={100}
        step="any"
        disabled={isOff}
        value={isOff ? "" : text}
        onChange={(event) => change(event.target.value)}
      />
      <small className="muted">{children}</small>
    </label>
  );
}

/** What the queue will hold, a moment after the last change. */
function Preview({ wish }: { wish: QueueWish }) {
  const text = JSON.stringify(wish);
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), 250);
    return () => clearTimeout(timer);
  }, [text]);
  const answer = useAnswer(
    (signal) => {
      const { query, taxonomy, double_share, blind_share, skip_labelled, kind } = JSON.parse(
        settled,
      ) as QueueWish;
      return getQueuePreview(
        { query, taxonomy, double_share, blind_share, skip_labelled, kind },
        signal,
      );
    },
    [settled],
  );
  const said = answer.error?.message ?? answer.value?.words ?? "Counting…";
  return (
    <output
      className={`queue-form-plan${answer.error || answer.value?.tasks === 0 ? " queue-form-doubt" : ""}`}
    >
      {said}
    </output>
  );
}
