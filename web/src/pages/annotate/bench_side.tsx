import type { TaskComment } from "../../api/schema";
import type { Answer } from "../../api/use_answer";
import type { Cards } from "./cards";
import { Comments } from "./comments";
import { Corrections } from "./corrections";
import { Instructions } from "./instructions";
import { LabelPanel } from "./label_panel";
import { Missing } from "./missing";
import { Outcome } from "./outcome";
import { predictionsOf } from "./predictions";
import "./bench_side.css";
import type { Bench } from "./use_bench";

export type Tab = "label" | "episode" | "comments" | "corrections";

export interface BenchSideProps {
  bench: Bench;
  tab: Tab;
  onTab: (tab: Tab) => void;
  asked: string | null;
  onAsk: (attribute: string) => void;
  missing: string[] | null;
  comments: Answer<TaskComment[]>;
  cards: Cards;
}

/** What is said beside the lanes, and what is still missing. */
export function BenchSide(props: BenchSideProps) {
  const { bench, tab, onTab, asked, onAsk, missing, comments, cards } = props;
  const open = comments.value?.filter((each) => !each.resolved).length ?? 0;
  const fixes = bench.content.corrections.length + predictionsOf(bench.task.settings).length;
  const tabs: { name: Tab; title: string; count: number }[] = [
    { name: "label", title: "Label", count: 0 },
    { name: "episode", title: "Episode", count: 0 },
    { name: "comments", title: "Comments", count: open },
    { name: "corrections", title: "Corrections", count: fixes },
  ];
  return (
    <aside className="bench-side" aria-label="What is said">
      <div className="side-tabs" role="tablist" aria-label="What is said">
        {tabs.map(({ name, title, count }) => (
          <button
            key={name}
            type="button"
            role="tab"
            aria-selected={tab === name}
            onClick={() => onTab(name)}
          >
            {title} {count > 0 && <span className="num">{count}</span>}
          </button>
        ))}
      </div>
      <div className="side-body" role="tabpanel">
        {tab === "label" && <LabelPanel bench={bench} cards={cards} asked={asked} onAsk={onAsk} />}
        {tab === "episode" && (
          <>
            <Outcome bench={bench} />
            <Instructions bench={bench} />
          </>
        )}
        {tab === "comments" && <Comments bench={bench} comments={comments} />}
        {tab === "corrections" && <Corrections bench={bench} />}
      </div>
      <Missing bench={bench} missing={missing} onTab={onTab} />
    </aside>
  );
}
