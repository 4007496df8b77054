import { useEffect, useRef, useState } from "react";
import type { EpisodeDetail, EpisodeFinding } from "../../api/schema";
import { againstLimit, checkTitle } from "../../parts/words";
import { type Clock, clockText } from "../../player/clock";
import { momentTitle } from "../../player/moment";
import { CheckWords } from "./check_words";
import { EvidenceChart } from "./evidence_chart";
import "./finding_card.css";
import { severityText } from "../../parts/severity";
import { selectFinding } from "./finding_choice";

export interface FindingCardProps {
  episode: Pick<EpisodeDetail, "epoch_ns" | "row">;
  finding: EpisodeFinding;
  clock: Clock;
  isChosen: boolean;
}

/** One finding: what, where, how much against which limit; opened, also what it was seen by. */
export function FindingCard({ episode, finding, clock, isChosen }: FindingCardProps) {
  const [isOpen, setOpen] = useState(isChosen);
  const element = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (!isChosen) return;
    setOpen(true);
    element.current?.scrollIntoView({ block: "nearest" });
  }, [isChosen]);
  const first = finding.spans[0];
  return (
    <li
      ref={element}
      className={`finding finding-${finding.severity}`}
      aria-current={isChosen || undefined}
    >
      <div className="finding-head">
        <button
          type="button"
          className="quiet finding-name"
          aria-expanded={isOpen}
          title={isOpen ? "Close" : "Show the evidence, and what to do"}
          onClick={() => setOpen(!isOpen)}
        >
          <span aria-hidden>{isOpen ? "▾" : "▸"}</span> {checkTitle(finding.check)}
        </button>
        <span className={`chip ${finding.severity}`}>{severityText(finding.severity)}</span>
        {first && (
          <button
            type="button"
            className="finding-jump num"
            title={`Go to this moment: ${momentTitle(episode, clock, first.start_ns)}`}
            onClick={() => selectFinding(finding.number)}
          >
            {clockText(first.start_ns)}
            <span aria-hidden> ↦</span>
          </button>
        )}
      </div>
      <p>{finding.message}</p>
      {finding.value !== null && finding.limit !== null && (
        <p className="finding-numbers num">
          {againstLimit(finding.value, finding.limit, finding.unit)}
        </p>
      )}
      {isOpen && (
        <div className="finding-more">
          <Moments episode={episode} finding={finding} clock={clock} />
          <EvidenceChart finding={finding} clock={clock} />
          <CheckWords name={finding.check} />
        </div>
      )}
    </li>
  );
}

const MOST_MOMENTS = 12;

/** Where else it was seen, if more than once. */
function Moments({ episode, finding, clock }: Omit<FindingCardProps, "isChosen">) {
  if (finding.spans.length < 2) return null;
  return (
    <p className="finding-moments num">
      {finding.spans.slice(0, MOST_MOMENTS).map((span) => (
        <button
          key={span.first}
          type="button"
          className="quiet"
          title={momentTitle(episode, clock, span.start_ns)}
          onClick={() => {
            clock.pause();
            clock.seek(span.start_ns);
          }}
        >
          {clockText(span.start_ns)}
        </button>
      ))}
      {finding.spans.length > MOST_MOMENTS && (
        <span className="muted">and {finding.spans.length - MOST_MOMENTS} more</span>
      )}
    </p>
  );
}
