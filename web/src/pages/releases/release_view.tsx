import { useEffect, useState } from "react";
import { type ExportFormat, exportRelease, getReleaseExports } from "../../api/exports";
import { getDifference, getRelease, verifyRelease } from "../../api/releases";
import type { ReleasePage, VerifiedRelease } from "../../api/schema";
import { useMay } from "../../api/session";
import { useAnswer } from "../../api/use_answer";
import { ExportList, FormatChoice } from "../../parts/export_list";
import { Link } from "../../parts/link";
import { Notice, Waiting } from "../../parts/notice";
import { CardView } from "./card_view";
import { Likeness } from "./likeness";
import { hoursText, splitsText, VerifiedChip } from "./releases";

/** One release: its figures, its card, what changed since another, and whether it is as it was. */
export function ReleaseView({ reference }: { reference: string }) {
  const { value, error, again } = useAnswer((signal) => getRelease(reference, signal), [reference]);
  useEffect(() => {
    const before = document.title;
    document.title = `${reference} · Corporeal`;
    return () => {
      document.title = before;
    };
  }, [reference]);
  if (error) return <Notice error={error} again={again} />;
  if (!value) return <Waiting what="Loading the release" />;
  const { release } = value;
  return (
    <div className="releases">
      <nav>
        <Link href="/releases">‹ Releases</Link>
      </nav>
      <header className="releases-head">
        <div>
          <h1>{release.reference}</h1>
          <p className="muted">
            {release.episodes.toLocaleString("en-GB")} episodes · {hoursText(release.hours)} ·{" "}
            {splitsText(release.splits)} · {release.licence} · by {release.created_by},{" "}
            {release.created_at.slice(0, 16).replace("T", " ")} UTC
          </p>
          {release.condition && (
            <p>
              <code>{release.condition}</code>
            </p>
          )}
          {release.notes && <p>{release.notes}</p>}
        </div>
        <Link
          className="button"
          href={`/episodes?query=${encodeURIComponent(`in release ${release.reference}`)}`}
        >
          Its episodes
        </Link>
      </header>
      <div className="release-columns">
        <CardView card={value.card} />
        <aside className="release-side">
          <Verification page={value} onVerified={again} />
          <Difference page={value} />
          <Export reference={release.reference} />
          <section className="card">
            <h2>Splits</h2>
            <Likeness words={value.words} properties={value.properties} />
          </section>
        </aside>
      </div>
    </div>
  );
}

function Verification({ page, onVerified }: { page: ReleasePage; onVerified: () => void }) {
  const mayVerify = useMay("verify");
  const [found, setFound] = useState<VerifiedRelease | null>(null);
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  const verify = () => {
    setBusy(true);
    verifyRelease(page.release.reference).then(
      (answer) => {
        setFound(answer);
        setError("");
        setBusy(false);
        onVerified();
      },
      (reason: Error) => {
        setError(reason.message);
        setBusy(false);
      },
    );
  };
  return (
    <section className="card">
      <h2>Verified</h2>
      <p>
        <VerifiedChip release={page.release} />
      </p>
      {found && <p role="status">{found.words}</p>}
      {found?.problems.slice(1).map((problem) => (
        <p key={problem} className="muted">
          {problem}
        </p>
      ))}
      {error && <p role="alert">{error}</p>}
      {mayVerify && (
        <button type="button" disabled={isBusy} onClick={verify}>
          {isBusy ? "Reading every byte…" : "Verify now"}
        </button>
      )}
    </section>
  );
}

function Difference({ page }: { page: ReleasePage }) {
  const [since, setSince] = useState(page.others.at(-1) ?? "");
  const answer = useAnswer(
    (signal) =>
      since ? getDifference(page.release.reference, since, signal) : Promise.resolve({ lines: [] }),
    [page.release.reference, since],
  );
  if (!page.others.length) return null;
  return (
    <section className="card">
      <h2>
        What changed since{" "}
        <select value={since} aria-label="Since" onChange={(event) => setSince(event.target.value)}>
          {page.others.map((other) => (
            <option key={other}>{other}</option>
          ))}
        </select>
      </h2>
      {answer.error && <p role="alert">{answer.error.message}</p>}
      <ul>
        {answer.value?.lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </section>
  );
}

/** Exports it on the server, in the background: a page that is left finds it again. */
function Export({ reference }: { reference: string }) {
  const mayExport = useMay("export");
  const [format, setFormat] = useState<ExportFormat>("lerobot");
  const [refused, setRefused] = useState("");
  const { value, again } = useAnswer((signal) => getReleaseExports(reference, signal), [reference]);
  const start = () => {
    exportRelease(reference, format).then(
      () => {
        setRefused("");
        again();
      },
      (reason: Error) => setRefused(reason.message),
    );
  };
  return (
    <section className="card">
      <h2>Export as</h2>
      {mayExport && <FormatChoice format={format} onFormat={setFormat} onStart={start} />}
      {refused && <p role="alert">{refused}</p>}
      <ExportList states={value ?? []} again={again} />
      <p className="muted">Folders are below the workspace. With options, in a terminal:</p>
      <pre>{`corporeal export ${reference} --format ${format} --out dataset`}</pre>
    </section>
  );
}
