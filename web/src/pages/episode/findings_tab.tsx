import type { EpisodeDetail, EpisodeFinding } from "../../api/schema";
import type { Clock } from "../../player/clock";
import { FindingCard } from "./finding_card";
import "./findings_tab.css";
import { count } from "../../parts/words";
import { Adherence, assessedText, NotAssessed } from "./not_assessed";
import { byWeight, isIncident, storyOf } from "./story";

export interface FindingsTabProps {
  episode: EpisodeDetail;
  clock: Clock;
  chosen: number | null;
}

/** The verdict in words, how much was judged, every finding, and what could not be judged. */
export function FindingsTab({ episode, clock, chosen }: FindingsTabProps) {
  const story = storyOf(episode);
  const sorted = byWeight(episode.findings);
  const grave = sorted.filter(({ severity }) => severity !== "note");
  const notes = sorted.filter(({ severity }) => severity === "note");
  const card = (finding: EpisodeFinding) => (
    <FindingCard
      key={finding.number}
      episode={episode}
      finding={finding}
      clock={clock}
      isChosen={finding.number === chosen}
    />
  );
  return (
    <div className="findings">
      {/* What went wrong stands at the top of the page already. */}
      {!isIncident(episode) && (
        <p className={`findings-verdict findings-${story.tone}`}>
          <b>{story.verdict}</b>: {story.cause}
        </p>
      )}
      <p className="muted">{assessedText(episode)}</p>
      <ul>{grave.map(card)}</ul>
      {notes.length > 0 && (
        <details open={grave.length === 0 || notes.some(({ number }) => number === chosen)}>
          <summary>{count(notes.length, "note")}</summary>
          <ul>{notes.map(card)}</ul>
        </details>
      )}
      <Adherence episode={episode} />
      <NotAssessed episode={episode} />
    </div>
  );
}
