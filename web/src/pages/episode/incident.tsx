import { useMemo } from "react";
import type { EpisodeDetail, EventFacts } from "../../api/schema";
import type { Clock } from "../../player/clock";
import { momentTitle } from "../../player/moment";
import { chainOf, linkTime } from "./chain";
import { selectFinding } from "./finding_choice";
import "./incident.css";
import { checkTitle } from "../../parts/words";
import { isIncident, storyOf } from "./story";

/** What leads to a moment is seen before it. */
const LEAD_NS = 1e9;

/**
 * What went wrong, at the top of the page, with the way to its moment and to what happened before
 * it; nothing where all is well.
 */
export function Incident({
  episode,
  clock,
  events,
}: {
  episode: EpisodeDetail;
  clock: Clock;
  events: EventFacts[];
}) {
  const { tone, verdict, cause, moment, finding } = storyOf(episode);
  const chain = useMemo(() => chainOf(episode, events), [episode, events]);
  if (!isIncident(episode)) return null;
  return (
    <section className={`incident incident-${tone}`} aria-label="What happened">
      <p>
        <b>{verdict}</b>: {cause}
        {finding?.message === cause && (
          <span className="incident-check">{checkTitle(finding.check)}</span>
        )}
      </p>
      {chain.length > 0 && (
        <ol className="incident-chain" aria-label="Before, in order">
          {chain.map((link) => (
            <li key={`${link.timeNs} ${link.text}`}>
              <button
                type="button"
                className="quiet"
                title={`${link.from}. ${momentTitle(episode, clock, link.timeNs)}`}
                onClick={() => {
                  clock.pause();
                  clock.seek(link.timeNs);
                }}
              >
                {link.text} <span className="num muted">{linkTime(link)}</span>
              </button>
            </li>
          ))}
        </ol>
      )}
      {moment && (
        <button
          type="button"
          onClick={() => {
            if (finding) selectFinding(finding.number);
            clock.pause();
            clock.seek(Math.max(moment.timeNs - LEAD_NS, clock.startNs));
          }}
        >
          Go to {moment.name}
        </button>
      )}
    </section>
  );
}
