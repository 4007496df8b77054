// What people train on: the list of releases, one release, and a form for the next one.
import { getReleases, releasePath } from "../../api/releases";
import type { ReleaseFacts } from "../../api/schema";
import { useMay } from "../../api/session";
import { useAnswer } from "../../api/use_answer";
import { Link } from "../../parts/link";
import { Notice, Waiting } from "../../parts/notice";
import { go } from "../../parts/router";
import { NewReleaseForm } from "./new_release";
import { ReleaseView } from "./release_view";
import "./releases.css";

export default function Releases({ address }: { address: URL }) {
  const name = decodeURIComponent(address.pathname.split("/")[2] ?? "");
  if (name === "new") return <NewReleaseForm address={address} />;
  if (name) return <ReleaseView key={name} reference={name} />;
  return <ReleaseList />;
}

function ReleaseList() {
  const mayRelease = useMay("release");
  const { value, error, again } = useAnswer(getReleases, []);
  if (error) return <Notice error={error} again={again} />;
  if (!value) return <Waiting what="Loading the releases" />;
  return (
    <div className="releases">
      <header className="releases-head">
        <div>
          <h1>Releases</h1>
          <p className="muted">
            What people train on: episodes in splits, with a version and a card. A release never
            changes.
          </p>
        </div>
        {mayRelease && (
          <button type="button" className="primary" onClick={() => go("/releases/new")}>
            New release
          </button>
        )}
      </header>
      {value.length === 0 ? (
        <p className="waiting">
          There is no release yet.{" "}
          {mayRelease ? "Make the first one of what is accepted." : "A lead can make one."}
        </p>
      ) : (
        <div className="releases-table">
          <table>
            <thead>
              <tr>
                <th scope="col">Release</th>
                <th scope="col" className="right">
                  Episodes
                </th>
                <th scope="col" className="right">
                  Duration
                </th>
                <th scope="col">Splits</th>
                <th scope="col">Made (UTC)</th>
                <th scope="col">By</th>
                <th scope="col">Verified</th>
              </tr>
            </thead>
            <tbody>
              {value.map((release) => (
                <Row key={release.reference} release={release} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

function Row({ release }: { release: ReleaseFacts }) {
  return (
    <tr>
      <th scope="row">
        <Link href={releasePath(release.reference)}>{release.reference}</Link>
      </th>
      <td className="num right">{release.episodes.toLocaleString("en-GB")}</td>
      <td className="num right">{hoursText(release.hours)}</td>
      <td className="num">{splitsText(release.splits)}</td>
      <td>
        <time dateTime={release.created_at}>
          {release.created_at.slice(0, 16).replace("T", " ")}
        </time>
      </td>
      <td>{release.created_by}</td>
      <td>
        <VerifiedChip release={release} />
      </td>
    </tr>
  );
}

export function VerifiedChip({ release }: { release: ReleaseFacts }) {
  const { verified } = release;
  if (!verified) return <span className="muted">never</span>;
  return (
    <span
      className={`chip ${verified.good ? "accepted" : "failed"}`}
      title={`by ${verified.who}, ${verified.at.slice(0, 16).replace("T", " ")} UTC`}
    >
      {verified.good ? "as released" : "differs"}
    </span>
  );
}

export function hoursText(hours: number | null): string {
  if (hours === null) return "";
  return hours < 1 ? `${(hours * 60).toFixed(1)} min` : `${hours.toFixed(1)} h`;
}

export function splitsText(splits: Record<string, number>): string {
  return Object.entries(splits)
    .map(([name, count]) => `${name} ${count.toLocaleString("en-GB")}`)
    .join(" · ");
}
