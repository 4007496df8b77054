import type { EpisodeDetail } from "../../api/schema";
import type { Clock } from "../../player/clock";
import { selectFinding } from "./finding_choice";
import "./incident.css";
import { isIncident, storyOf } from "./story";

/** What went wrong, at the top of the page, with the way to its moment; nothing where all is well. */
export function Incident({ episode, clock }: { episode: EpisodeDetail; clock: Clock }) {
  const { tone, verdict, cause, moment, finding } = storyOf(episode);
  if (!isIncident(episode)) return null;
  return (
    <section className={`incident incident-${tone}`} aria-label="What happened">
      <p>
        <b>{verdict}</b>: {cause}
        {finding && <code className="incident-check">{finding.check}</code>}
      </p>
      {moment && (
        <button
          type="button"
          onClick={() => {
            if (finding) selectFinding(finding.number);
            clock.pause();
            clock.seek(moment.timeNs);
          }}
        >
          Go to {moment.name}
        </button>
      )}
    </section>
  );
}
