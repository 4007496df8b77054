import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { EpisodeDetail, JointError } from "../api/schema";
import { getErrors } from "../api/signal";
import { useAnswer } from "../api/use_answer";
import type { Clock } from "../player/clock";
import { type ColumnGroup, columnUnits, groupsOf } from "./column_groups";
import { GUTTER, type Inks } from "./draw";
import { ErrorBars, worstGroup } from "./error_bars";
import { findingsOf, firstGroup, limitsOf, marksOf } from "./evidence";
import { listenToGestures } from "./gestures";
import { Legend } from "./legend";
import { Painter } from "./painter";
import type { Panel } from "./panels";
import "./plot.css";
import { PlotCursors } from "./plot_cursors";
import type { ViewWindow } from "./window";

export interface PlotProps {
  episode: EpisodeDetail;
  clock: Clock;
  view: ViewWindow;
  panel: Panel;
  inks: Inks;
  selected: number | null;
  onRemove: () => void;
}

/** One stream over time, with what it was told, what was found, and its values now. */
export function Plot({ episode, clock, view, panel, inks, selected, onRemove }: PlotProps) {
  const { stream, commanded } = panel;
  const groups = useMemo(() => groupsOf(stream), [stream]);
  const findings = useMemo(() => findingsOf(panel, episode), [panel, episode]);
  const canvas = useRef<HTMLCanvasElement>(null);
  const area = useRef<HTMLDivElement>(null);
  const painter = useRef<Painter | null>(null);
  const [turn, setTurn] = useState(0);
  const [chosen, setChosen] = useState<string | null>(null);
  const [hidden, setHidden] = useState<ReadonlySet<number>>(new Set());
  const [span, setSpan] = useState<[number, number] | null>(null);
  const [wantsError, setWantsError] = useState(false);
  const errors = useErrors(episode.id, panel);
  const showsError = wantsError && errors.length > 0;

  useEffect(() => {
    if (!canvas.current) return;
    const made = new Painter(canvas.current, episode, panel, view, () => setTurn((n) => n + 1));
    painter.current = made;
    setTurn((n) => n + 1);
    return () => made.close();
  }, [episode, panel, view]);
  useLayoutEffect(() => {
    if (!area.current) return;
    const onChosen = (from: number | null, to: number | null) =>
      setSpan(from === null || to === null ? null : [from, to]);
    return listenToGestures({ area: area.current, clock, view, gutter: GUTTER, onChosen });
  }, [clock, view]);

  const whole = painter.current?.measured.whole ?? null;
  const usual = useMemo(
    () => firstGroup(groups, panel, findings, whole, worstGroup(groups, errors)),
    [groups, panel, findings, whole, errors],
  );
  const group = useMemo(
    () => worstFirst(groups.find((each) => each.name === chosen) ?? usual, errors),
    [groups, chosen, usual, errors],
  );
  const unit = columnUnits(stream)[group.columns[0] ?? 0] ?? "1";
  // biome-ignore lint/correctness/useExhaustiveDependencies: new samples are drawn
  useEffect(() => {
    const columns = group.columns
      .map((column, ink) => ({ column, ink }))
      .filter((each) => !hidden.has(each.column));
    const marks = marksOf(findings, selected);
    painter.current?.show({
      columns,
      showsCommands: commanded !== null,
      showsError,
      marks,
      limits: limitsOf(findings),
      inks,
    });
  }, [group, hidden, findings, selected, inks, commanded, showsError, turn]);

  const toggle = (column: number, alone: boolean) => {
    const next = new Set(alone ? group.columns : hidden);
    if (alone || next.has(column)) next.delete(column);
    else next.add(column);
    setHidden(next);
  };
  const showWorst = ({ column, at_ns }: JointError) => {
    const own = groups.find((each) => each.columns.includes(column));
    if (own) setChosen(own.name);
    setHidden(new Set());
    clock.pause();
    clock.seek(at_ns);
  };
  const error = painter.current?.error;
  const lines = group.columns.length - group.columns.filter((each) => hidden.has(each)).length;
  return (
    <figure
      className="plot"
      data-stream={stream.path}
      data-mode={whole ? whole.facts.mode : "waiting"}
    >
      <figcaption className="plot-head">
        <h3 title={stream.description ?? stream.path}>
          {stream.name.replaceAll("_", " ")}{" "}
          <span className="muted">{unit === "1" ? "" : unit}</span>
        </h3>
        {groups.length > 1 && (
          <select
            aria-label={`Part of ${stream.name}`}
            value={group.name}
            onChange={(event) => {
              setChosen(event.target.value);
              setHidden(new Set());
            }}
          >
            {groups.map((each) => (
              <option key={each.name} value={each.name}>
                {each.name} ({each.columns.length})
              </option>
            ))}
          </select>
        )}
        {errors.length > 0 && (
          <button
            type="button"
            className="quiet plot-error"
            aria-pressed={showsError}
            title="Draw what was commanded less what was measured"
            onClick={() => setWantsError(!wantsError)}
          >
            Plot error
          </button>
        )}
        <PlotNotes trace={whole} />
        <button
          type="button"
          className="quiet plot-remove"
          aria-label={`Take ${stream.name} away`}
          title="Take this plot away"
          onClick={onRemove}
        >
          ×
        </button>
      </figcaption>
      <div className="plot-area" ref={area}>
        <canvas
          ref={canvas}
          role="img"
          aria-label={`${stream.name}, ${group.name}: ${lines} lines over time`}
        />
        <PlotCursors clock={clock} view={view} />
        {span && (
          <div
            className="plot-chosen"
            style={{ left: GUTTER + span[0], width: span[1] - span[0] }}
          />
        )}
        {!whole && !error && <p className="plot-wait">Reading…</p>}
        {error && (
          <p className="plot-wait" role="alert">
            {error.message}{" "}
            <button type="button" onClick={() => painter.current?.retry()}>
              Try again
            </button>
          </p>
        )}
      </div>
      <Legend
        painter={painter}
        columns={group.columns}
        group={group.name}
        hidden={hidden}
        hasCommands={commanded !== null && errors.length > 0}
        clock={clock}
        view={view}
        onToggle={toggle}
        stream={stream}
        turn={turn}
      />
      {errors.length > 0 && <ErrorBars errors={errors} stream={stream.name} onChoose={showWorst} />}
    </figure>
  );
}

const noErrors: JointError[] = [];

/** How far the joints were from their commands; nothing where there is no command, or none is known. */
function useErrors(id: string, { stream, commanded }: Panel): JointError[] {
  const answer = useAnswer(
    (signal) =>
      commanded ? getErrors(id, stream.path, commanded.path, signal) : Promise.resolve(noErrors),
    [id, stream.path, commanded?.path],
  );
  return answer.value ?? noErrors;
}

/** The lines of a group with those first that were farthest from their commands. */
function worstFirst(group: ColumnGroup, errors: JointError[]): ColumnGroup {
  if (!errors.length) return group;
  const off = new Map(errors.map((each) => [each.column, each.largest]));
  const columns = [...group.columns].sort((a, b) => (off.get(b) ?? -1) - (off.get(a) ?? -1));
  return { ...group, columns };
}

/** What is wrong with the stamps, which no line can show. */
function PlotNotes({ trace }: { trace: Painter["measured"]["whole"] }) {
  if (!trace) return null;
  const { backward, samples } = trace.facts;
  if (!samples) return <span className="plot-note">no samples</span>;
  if (!backward) return null;
  return (
    <span
      className="plot-note"
      title="They are drawn at the latest time before them, in the order in which they were recorded."
    >
      {backward} stamps go backwards
    </span>
  );
}
