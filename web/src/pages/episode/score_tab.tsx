import { getScore } from "../../api/facts";
import type { EpisodeDetail, PartDistribution, ValueDistribution } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { Notice, Waiting } from "../../parts/notice";
import { DistributionStrip } from "./distribution_strip";
import "./score_tab.css";

/** The score and its parts, each before the distribution of the same task. */
export function ScoreTab({ episode }: { episode: EpisodeDetail }) {
  const { value, error, again } = useAnswer((signal) => getScore(episode.id, signal), [episode.id]);
  if (error) return <Notice error={error} again={again} />;
  if (!value) return <Waiting what="Comparing with the task" />;
  if (value.score === null && value.parts.length === 0) {
    return (
      <p className="muted">
        It has no score: it was not checked, or nothing in it could be assessed.
      </p>
    );
  }
  const peers = value.total.episodes;
  const parts = [...value.parts].sort((a, b) => (b.share ?? -1) - (a.share ?? -1));
  return (
    <div className="score">
      <div className="score-total">
        <b className="num">{value.score === null ? "–" : value.score.toFixed(2)}</b>
        <span>
          of 1. {place(value.total, value.task)}
          <span className="muted">
            {" "}
            Behind each bar: {value.sampled ? "a sample of " : ""}
            {peers.toLocaleString("en")} episodes of {value.task ?? "no task"}.
          </span>
        </span>
      </div>
      <DistributionStrip distribution={value.total} value={value.score} label="The whole score" />
      <ol>
        {parts.map((part) => (
          <Part key={part.part} part={part} />
        ))}
      </ol>
    </div>
  );
}

function Part({ part }: { part: PartDistribution }) {
  const { percentile } = part.distribution;
  return (
    <li className="score-part">
      <div className="score-part-head">
        <b>{part.part.replaceAll("_", " ")}</b>
        <span className="muted num">
          {part.share === null ? "not counted" : `counts ${percent(part.share * 100)}`}
        </span>
        <span className="score-part-value num">
          {part.value === null ? "–" : part.value.toFixed(2)}
        </span>
      </div>
      <DistributionStrip
        distribution={part.distribution}
        value={part.value}
        label={part.part.replaceAll("_", " ")}
      />
      <p className="muted">
        {part.title}
        {percentile !== null && ` Better than ${percent(percentile)} of the task.`}
      </p>
    </li>
  );
}

function place({ percentile }: ValueDistribution, task: string | null): string {
  if (percentile === null) return "";
  return `Better than ${percent(percentile)} of ${task === null ? "those without a task" : "its task"}.`;
}

function percent(value: number): string {
  return `${value < 10 && value % 1 ? value.toFixed(1) : Math.round(value)} %`;
}
