// The columns of the table: what each shows, how wide it is, and the field it can be ordered by.
import type { ReactNode } from "react";
import { nameOf } from "../../api/names";
import type { ListedEpisode } from "../../api/schema";
import { LEAST_ASSESSED, VerdictChip } from "../../parts/notice";
import { checkTitle } from "../../parts/words";
import { ScoreBar } from "./score_bar";
import { Thumbnail } from "./thumbnail";
import { durationText, outcomeText, tellingMoment, timeText } from "./wording";

export interface Column {
  name: string;
  title: string;
  width: string;
  order?: string;
  align?: "right";
  show: (row: ListedEpisode) => ReactNode;
}

export const columns: Column[] = [
  {
    name: "number",
    title: "#",
    width: "44px",
    order: "number",
    align: "right",
    show: (row) => <b className="num episode-table-number">{nameOf(row)}</b>,
  },
  {
    name: "picture",
    title: "Picture",
    width: "62px",
    show: (row) => <Thumbnail id={row.id} width={160} at={tellingMoment(row)} />,
  },
  {
    name: "recorded",
    title: "Recorded (UTC)",
    width: "132px",
    order: "recorded",
    show: (row) => <time>{timeText(row.recorded_ns)}</time>,
  },
  {
    name: "task",
    title: "Task",
    width: "minmax(90px, 1.3fr)",
    order: "task",
    show: (row) => <b title={row.task ?? undefined}>{row.task}</b>,
  },
  {
    name: "instruction",
    title: "Instruction",
    width: "minmax(100px, 1fr)",
    order: "instruction",
    show: (row) => <span title={row.instruction ?? undefined}>{row.instruction}</span>,
  },
  {
    name: "operator",
    title: "Operator",
    width: "minmax(68px, 0.4fr)",
    order: "operator",
    show: (row) => row.operator,
  },
  {
    name: "station",
    title: "Station",
    width: "minmax(64px, 0.3fr)",
    order: "station",
    show: (row) => row.station,
  },
  {
    name: "duration",
    title: "Duration",
    width: "62px",
    order: "duration_s",
    align: "right",
    show: (row) => <span className="num">{durationText(row.duration_s)}</span>,
  },
  {
    name: "outcome",
    title: "Outcome",
    width: "minmax(70px, 0.3fr)",
    order: "failure",
    show: outcome,
  },
  {
    name: "verdict",
    title: "Verdict",
    width: "108px",
    order: "verdict",
    show: (row) => (
      <VerdictChip verdict={row.verdict} decision={row.decision} assessed={row.assessed} />
    ),
  },
  {
    name: "assessed",
    title: "Checks run",
    width: "74px",
    align: "right",
    show: (row) => <Assessed row={row} />,
  },
  {
    name: "score",
    title: "Score",
    width: "80px",
    order: "score",
    show: (row) => <ScoreBar score={row.score} />,
  },
  {
    name: "tags",
    title: "Tags",
    width: "minmax(48px, 0.3fr)",
    show: (row) => <Tags row={row} />,
  },
  { name: "finding", title: "Top finding", width: "minmax(160px, 2fr)", show: finding },
  { name: "state", title: "State", width: "88px", order: "state", show: (row) => row.state },
  { name: "robot", title: "Robot", width: "80px", order: "robot", show: (row) => row.robot },
  {
    name: "batch",
    title: "Batch",
    width: "minmax(90px, 0.4fr)",
    order: "batch",
    show: (row) => row.batch,
  },
  {
    name: "session",
    title: "Session",
    width: "minmax(90px, 0.4fr)",
    order: "session",
    show: (row) => row.session,
  },
  {
    name: "file",
    title: "File",
    width: "minmax(120px, 0.8fr)",
    order: "file",
    show: (row) => row.file,
  },
];

const rare = new Set(["station", "state", "robot", "batch", "session", "file"]);

export const usualColumns = columns.map((column) => column.name).filter((name) => !rare.has(name));

/** The columns that a visitor may have: whose episode is whose is not for everybody. */
export function allowedColumns(isShownPeople: boolean): Column[] {
  return columns.filter(({ name }) => name !== "operator" || isShownPeople);
}

/** What gives way first in a window too narrow for all. */
const givesWay = ["instruction", "assessed", "duration", "operator", "outcome"];
const gapPx = 10;
const besidesPx = 62;

/** The usual columns that fit beside each other; those that somebody has chosen stay, and are scrolled to. */
export function fitting(shown: Column[], widthPx: number): Column[] {
  const usual = usualColumns.filter((name) => name !== "operator").join();
  const names = shown.map(({ name }) => name).filter((name) => name !== "operator");
  if (names.join() !== usual) return shown;
  let kept = shown;
  for (const name of givesWay) {
    const needed = kept.reduce(
      (sum, { width }) => sum + Number(/\d+/.exec(width)?.[0] ?? 0) + gapPx,
      besidesPx,
    );
    if (needed <= widthPx) return kept;
    kept = kept.filter((column) => column.name !== name);
  }
  return kept;
}

/** The share of the checks that could run: what a verdict rests on. */
function Assessed({ row }: { row: ListedEpisode }) {
  const share = row.assessed;
  if (!row.checked) return <span className="episode-table-few">none</span>;
  if (share === null) return null;
  const isFew = share < LEAST_ASSESSED;
  return (
    <span className={isFew ? "num episode-table-few" : "num muted"}>
      {Math.round(100 * share)} %
    </span>
  );
}

/** Tags and how many notes there are. */
export function Tags({ row }: { row: ListedEpisode }) {
  return (
    <span className="episode-table-tags" title={row.tags.join(", ")}>
      {row.comments > 0 && (
        <span className="num muted" role="img" aria-label={`${row.comments} notes`}>
          ✎{row.comments}
        </span>
      )}
      {row.tags.map((tag) => (
        <span key={tag} className="chip">
          {tag}
        </span>
      ))}
    </span>
  );
}

function outcome(row: ListedEpisode): ReactNode {
  const isBad = row.failure !== null || row.success === false;
  return <span className={isBad ? "episode-table-bad" : undefined}>{outcomeText(row)}</span>;
}

function finding(row: ListedEpisode): ReactNode {
  if (!row.finding) return <span className="muted">{row.checked ? "none" : "not checked"}</span>;
  const { check, severity, message, of } = row.finding;
  return (
    <span className="episode-table-finding" title={message}>
      <span className={`chip ${severity}`}>{checkTitle(check)}</span>
      {of > 1 && <span className="muted num"> +{of - 1}</span>}
      <span className="episode-table-message">{message}</span>
    </span>
  );
}
