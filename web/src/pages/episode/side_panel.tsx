import { type KeyboardEvent, useEffect, useState } from "react";
import type { EpisodeDetail, EpisodeNote } from "../../api/schema";
import { useSession } from "../../api/session";
import { keepInAddress, useAddress } from "../../parts/router";
import type { Clock } from "../../player/clock";
import { ReviewedLine } from "../review/reviewed_line";
import { FactsTab } from "./facts_tab";
import { useChosenFinding } from "./finding_choice";
import { FindingsTab } from "./findings_tab";
import { LineageTab } from "./lineage_tab";
import { NotesTab } from "./notes_tab";
import { ScoreTab } from "./score_tab";
import "./side_panel.css";

export interface SidePanelProps {
  episode: EpisodeDetail;
  clock: Clock;
  /** Whether there is time for what is not seen at first sight. */
  isReady: boolean;
  notes: EpisodeNote[];
  onNotes: () => void;
}

const tabs = ["findings", "score", "notes", "facts", "lineage"] as const;
type Tab = (typeof tabs)[number];
const titles: Record<Tab, string> = {
  findings: "Findings",
  score: "Score",
  notes: "Notes",
  facts: "Details",
  lineage: "Lineage",
};

/** What is known of an episode, in five parts. */
export function SidePanel(props: SidePanelProps) {
  const { episode, clock, isReady: hasTime, notes, onNotes } = props;
  const said = useAddress().searchParams.get("tab");
  const [tab, setTab] = useState<Tab>(tabs.find((each) => each === said) ?? "findings");
  const isReady = useSession().episodes === null && hasTime;
  const chosen = useChosenFinding(episode.findings, clock);
  useEffect(() => {
    if (chosen !== null) setTab("findings");
  }, [chosen]);
  const show = (next: Tab) => {
    setTab(next);
    keepInAddress({ tab: next === "findings" ? null : next });
  };
  const step = (event: KeyboardEvent) => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!move) return;
    const next = tabs[(tabs.indexOf(tab) + move + tabs.length) % tabs.length] as Tab;
    show(next);
    document.getElementById(`side-tab-${next}`)?.focus();
  };
  const counts: Partial<Record<Tab, string>> = {
    findings: String(episode.findings.length),
    notes: notes.length ? String(notes.length) : "",
    score: episode.row.score === null ? "" : episode.row.score.toFixed(2),
  };
  return (
    <div className="side-panel">
      <div role="tablist" aria-label="What is known" data-own-arrows onKeyDown={step}>
        {tabs.map((each) => (
          <button
            key={each}
            id={`side-tab-${each}`}
            type="button"
            role="tab"
            aria-selected={tab === each}
            aria-controls="side-panel-body"
            tabIndex={tab === each ? 0 : -1}
            onClick={() => show(each)}
          >
            {titles[each]}{" "}
            {counts[each] && <span className="num side-panel-count">{counts[each]}</span>}
          </button>
        ))}
      </div>
      {isReady && (
        <div className="side-panel-reviews">
          <ReviewedLine episode={episode.id} />
        </div>
      )}
      <div
        id="side-panel-body"
        className="side-panel-body"
        role="tabpanel"
        aria-labelledby={`side-tab-${tab}`}
      >
        {tab === "findings" && <FindingsTab episode={episode} clock={clock} chosen={chosen} />}
        {tab === "score" && <ScoreTab episode={episode} />}
        {tab === "notes" && (
          <NotesTab episode={episode} clock={clock} notes={notes} onChange={onNotes} />
        )}
        {tab === "facts" && <FactsTab episode={episode} />}
        {tab === "lineage" && <LineageTab episode={episode} />}
      </div>
    </div>
  );
}
