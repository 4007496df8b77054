import { type MouseEvent, type RefObject, useEffect, useRef, useState } from "react";
import { getChart, type Payload, type Scope } from "../../api/dashboards";
import type { ChartAnswer, ChartFacts } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { go } from "../../parts/router";
import { asTable } from "./as_table";
import "./chart_card.css";
import { ChartMarks } from "./chart_marks";
import { Choices } from "./choices";
import { saveCsv, savePng } from "./export_chart";
import { Legend } from "./legend";
import { PlainTable } from "./plain_table";
import { Tooltip } from "./tooltip";

interface Props {
  chart: ChartFacts;
  scope: Scope;
  settings: Record<string, string>;
  isLinked: boolean;
  /** Alone on the page. */
  isLarge: boolean;
  onLarge: () => void;
  onChoose: (name: string, value: string) => void;
}

/** One question with its answer; it loads and fails for itself. */
export function ChartCard(props: Props) {
  const { chart, scope, settings, isLinked, isLarge, onLarge, onChoose } = props;
  const said = JSON.stringify(settings);
  const answer = useAnswer(
    (signal) => getChart(chart.id, scope, settings, signal),
    [chart.id, scope.query, scope.days, said],
  );
  const [asRows, setAsRows] = useState(false);
  const card = useRef<HTMLElement>(null);
  const isThere = answer.value !== null || answer.error !== null;
  useEffect(() => {
    if (isLinked && isThere) card.current?.scrollIntoView({ block: "start" });
  }, [isLinked, isThere]);
  const drawn = answer.value?.payload ?? null;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: for the pointer only; keys reach the same by the controls inside
    <article
      id={chart.id}
      ref={card}
      className={`chart-card card ${chart.wide ? "chart-wide" : ""} ${isLinked ? "chart-linked" : ""} ${isLarge ? "chart-large" : ""}`}
      aria-labelledby={`${chart.id}-title`}
      aria-busy={answer.waiting}
      onClick={follow}
    >
      <header>
        <h3 id={`${chart.id}-title`} title={chart.title}>
          {chart.title}
        </h3>
        <span className="chart-tools">
          {drawn && <Exports name={chart.id} payload={drawn} card={card} />}
          {drawn && drawn.kind !== "table" && (
            <button
              type="button"
              className="quiet"
              aria-pressed={asRows}
              onClick={() => setAsRows(!asRows)}
            >
              Table
            </button>
          )}
          <button
            type="button"
            className="quiet"
            aria-label={isLarge ? "Show all charts" : `Enlarge: ${chart.title}`}
            title={isLarge ? "Show all charts (Escape)" : "Enlarge"}
            onClick={onLarge}
          >
            {isLarge ? "⤡" : "⤢"}
          </button>
          <a
            className="quiet"
            href={`#${chart.id}`}
            aria-label={`Link to: ${chart.title}`}
            title="Link to this chart"
            data-hash
          >
            #
          </a>
        </span>
      </header>
      {answer.error ? (
        <Failed error={answer.error} again={answer.again} />
      ) : answer.value ? (
        <Said answer={answer.value} asRows={asRows} isOld={answer.waiting} onChoose={onChoose} />
      ) : (
        <p className="chart-waiting muted" role="status">
          Counting…
        </p>
      )}
      <Tooltip within={card} />
    </article>
  );
}

interface SaidProps {
  answer: ChartAnswer;
  asRows: boolean;
  isOld: boolean;
  onChoose: (name: string, value: string) => void;
}

function Said({ answer, asRows, isOld, onChoose }: SaidProps) {
  const { payload } = answer;
  return (
    <div className={isOld ? "chart-said chart-old" : "chart-said"}>
      <p className="chart-answer" title={answer.answer}>
        {answer.answer}
      </p>
      <Choices chart={answer.id} choices={answer.choices} onChoose={onChoose} />
      {payload?.kind === "stacked" && !asRows && <Legend tones={payload.legend} />}
      {payload ? (
        asRows ? (
          <div className="chart-marks">
            <PlainTable table={asTable(payload)} />
          </div>
        ) : (
          <ChartMarks payload={payload} />
        )
      ) : null}
      {!payload && <p className="chart-advice">{answer.advice}</p>}
      <div className="chart-notes">
        {answer.notes.map((each) => (
          <p key={each} className="chart-note">
            {each}
          </p>
        ))}
      </div>
    </div>
  );
}

function Exports({
  name,
  payload,
  card,
}: {
  name: string;
  payload: Payload;
  card: RefObject<HTMLElement | null>;
}) {
  const [said, setSaid] = useState("");
  const png = () => {
    if (card.current)
      savePng(name, card.current).then(
        () => setSaid(""),
        (error: Error) => setSaid(error.message),
      );
  };
  return (
    <>
      {said && <span role="alert">{said}</span>}
      <button
        type="button"
        className="quiet"
        title="Save the numbers as CSV"
        onClick={() => saveCsv(name, payload)}
      >
        CSV
      </button>
      <button type="button" className="quiet" title="Save the chart as a picture" onClick={png}>
        PNG
      </button>
    </>
  );
}

function Failed({ error, again }: { error: Error; again: () => void }) {
  return (
    <div className="chart-failed" role="alert">
      <p>{error.message}</p>
      <button type="button" onClick={again}>
        Try again
      </button>
    </div>
  );
}

/** Links inside drawings lead through Studio without loading it anew. */
function follow(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
  const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey;
  if (!link || !plain || event.defaultPrevented) return;
  event.preventDefault();
  const to = link.getAttribute("href") ?? "/";
  go(link.hasAttribute("data-hash") ? window.location.pathname + window.location.search + to : to);
}
