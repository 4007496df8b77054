import { type FormEvent, useEffect, useState } from "react";
import { getReleases, makeRelease, previewRelease, releasePath } from "../../api/releases";
import type { NewRelease, ReleasePreview } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { Link } from "../../parts/link";
import { go } from "../../parts/router";
import { count } from "../../parts/words";
import { Likeness } from "./likeness";
import { hoursText, splitsText } from "./releases";

const LOOK_AFTER_MS = 400;
type LabelPolicy = NonNullable<NewRelease["labels"]>;
const policies: [LabelPolicy, string][] = [
  ["asked", "those that a taxonomy in use asks for must be there"],
  ["required", "every episode must be labelled"],
  ["included", "as many as there are"],
  ["none", "none"],
];
const spreads = ["task", "operator", "station", "environment", "object"];

/** Makes a release of a query, and says what it will be before it is made. */
export function NewReleaseForm({ address }: { address: URL }) {
  const releases = useAnswer(getReleases, []);
  const [name, setName] = useState("");
  const [query, setQuery] = useState(address.searchParams.get("query") ?? "");
  const [train, setTrain] = useState("90");
  const [stratify, setStratify] = useState(["task", "operator"]);
  const [groupBy, setGroupBy] = useState("");
  const [licence, setLicence] = useState("all rights reserved");
  const [notes, setNotes] = useState("");
  const [labels, setLabels] = useState<LabelPolicy>("asked");
  const [negatives, setNegatives] = useState(false);
  const [unlike, setUnlike] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [refused, setRefused] = useState("");
  const share = Math.min(Math.max(Number(train) || 0, 1), 100) / 100;
  const wish: NewRelease = {
    name: name.trim() || "preview",
    query,
    splits: share === 1 ? { train: 1 } : { train: share, validation: round(1 - share) },
    stratify,
    group_by: groupBy || null,
    seed: 0,
    licence,
    notes: notes.trim() || null,
    negatives,
    unlike_splits: unlike,
    labels,
  };
  const { preview, error } = usePreview(wish);
  const isUnlabelled = preview !== null && !error && preview.unlabelled > 0;
  const make = (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    makeRelease(wish).then(
      (made) => go(releasePath(made.reference)),
      (reason: Error) => {
        setRefused(reason.message);
        setBusy(false);
      },
    );
  };
  const toggle = (field: string) =>
    setStratify(
      stratify.includes(field) ? stratify.filter((each) => each !== field) : [...stratify, field],
    );
  const names = [...new Set((releases.value ?? []).map((release) => release.name))];
  return (
    <div className="releases">
      <nav>
        <Link href="/releases">‹ Releases</Link>
      </nav>
      <h1>New release</h1>
      <form className="release-columns" onSubmit={make} aria-label="New release">
        <div className="card release-form">
          <label>
            Name
            <input
              value={name}
              required
              pattern="[a-z][a-z0-9_]*"
              title="Lower case letters, digits and _"
              list="release-names"
              placeholder="walks"
              // biome-ignore lint/a11y/noAutofocus: the first thing to say
              autoFocus
              onChange={(event) => setName(event.target.value)}
            />
            <datalist id="release-names">
              {names.map((each) => (
                <option key={each} value={each} />
              ))}
            </datalist>
            <small className="muted">
              The version follows from what changed since the last one of this name.
            </small>
          </label>
          <label>
            Which episodes
            <input
              value={query}
              spellCheck={false}
              autoComplete="off"
              placeholder="task = walk and score > 0.7"
              onChange={(event) => setQuery(event.target.value)}
            />
            <small className="muted">
              As in the list. Of these, those that are accepted. Empty: all of them.
            </small>
          </label>
          <label>
            For training, in %
            <input
              type="number"
              min={1}
              max={100}
              value={train}
              onChange={(event) => setTrain(event.target.value)}
            />
          </label>
          <fieldset>
            <legend>Spread evenly over the splits</legend>
            {spreads.map((field) => (
              <label key={field}>
                <input
                  type="checkbox"
                  checked={stratify.includes(field)}
                  onChange={() => toggle(field)}
                />{" "}
                {field}
              </label>
            ))}
          </fieldset>
          <label>
            Keep together in one split
            <select value={groupBy} onChange={(event) => setGroupBy(event.target.value)}>
              <option value="">nothing</option>
              <option>session</option>
              <option>operator</option>
              <option>station</option>
            </select>
          </label>
          <label>
            Labels
            <select
              value={labels}
              onChange={(event) => setLabels(event.target.value as LabelPolicy)}
            >
              {policies.map(([policy, words]) => (
                <option key={policy} value={policy}>
                  {words}
                </option>
              ))}
            </select>
          </label>
          <label>
            Licence
            <input value={licence} onChange={(event) => setLicence(event.target.value)} />
          </label>
          <label>
            Notes
            <textarea rows={2} value={notes} onChange={(event) => setNotes(event.target.value)} />
          </label>
          <label className="release-tick">
            <input
              type="checkbox"
              checked={negatives}
              onChange={(event) => setNegatives(event.target.checked)}
            />{" "}
            Failed episodes as well, in a split of their own
          </label>
          <label className="release-tick">
            <input
              type="checkbox"
              checked={unlike}
              onChange={(event) => setUnlike(event.target.checked)}
            />{" "}
            Also if the splits differ
          </label>
        </div>
        <aside className="release-side">
          <section className="card" aria-live="polite">
            <h2>What it will be</h2>
            {error && <p role="alert">{error}</p>}
            {!error && !preview && <p className="muted">Counting…</p>}
            {preview && !error && <Preview preview={preview} name={name.trim()} />}
            {isUnlabelled && (
              <Unlabelled
                count={preview.unlabelled}
                query={query}
                onWithout={() => setLabels("included")}
              />
            )}
            {refused && (
              <p role="alert" className="release-refused">
                {refused}
              </p>
            )}
            <button
              type="submit"
              className="primary"
              disabled={isBusy || !name.trim() || !preview || error !== "" || isUnlabelled}
            >
              {isBusy ? "Making it…" : "Make the release"}
            </button>
          </section>
        </aside>
      </form>
    </div>
  );
}

/** What stands in the way where labels are asked for, and both ways on. */
function Unlabelled({
  count: number,
  query,
  onWithout,
}: {
  count: number;
  query: string;
  onWithout: () => void;
}) {
  return (
    <div className="release-unlabelled" role="alert">
      <p>
        {count(number, "episode")} {number === 1 ? "lacks" : "lack"} labels that a taxonomy in use
        asks for.
      </p>
      <p>
        <Link className="button" href={`/labels/queues?query=${encodeURIComponent(query)}`}>
          Send to labelling
        </Link>{" "}
        <button type="button" onClick={onWithout}>
          Release without them
        </button>
      </p>
    </div>
  );
}

function Preview({ preview, name }: { preview: ReleasePreview; name: string }) {
  const left = Object.entries(preview.left_out).filter(([, count]) => count > 0);
  return (
    <>
      <p className="release-count">
        <b className="num">{preview.episodes.toLocaleString("en-GB")} episodes</b>,{" "}
        {hoursText(preview.hours)}
      </p>
      <p className="num">{splitsText(preview.splits)}</p>
      {name && (
        <p>
          {name}@{preview.version}
          {preview.previous && <span className="muted"> after {preview.previous}</span>}
        </p>
      )}
      {left.length > 0 && (
        <p className="muted">
          Left out: {left.map(([why, count]) => `${count} ${why}`).join(", ")}.
        </p>
      )}
      <Likeness words={preview.words} properties={preview.properties} />
    </>
  );
}

/** What would be made, asked for a moment after the last change. */
function usePreview(wish: NewRelease): { preview: ReleasePreview | null; error: string } {
  const [preview, setPreview] = useState<ReleasePreview | null>(null);
  const [error, setError] = useState("");
  const key = JSON.stringify({ ...wish, notes: null, unlike_splits: false });
  useEffect(() => {
    let isLatest = true;
    const timer = setTimeout(() => {
      previewRelease(JSON.parse(key) as NewRelease).then(
        (found) => {
          if (!isLatest) return;
          setPreview(found);
          setError("");
        },
        (reason: Error) => isLatest && setError(reason.message),
      );
    }, LOOK_AFTER_MS);
    return () => {
      isLatest = false;
      clearTimeout(timer);
    };
  }, [key]);
  return { preview, error };
}

function round(share: number): number {
  return Math.round(share * 1e6) / 1e6;
}
