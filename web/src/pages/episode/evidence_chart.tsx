import { type PointerEvent as Press, useEffect, useRef } from "react";
import type { EpisodeFinding } from "../../api/schema";
import type { Clock } from "../../player/clock";
import { curveName, type Evidence, evidenceOf } from "./evidence";
import "./evidence_chart.css";
import { checkTitle } from "../../parts/words";

const WIDTH = 320;
const HEIGHT = 110;
const LEFT = 46;
const RIGHT = 6;
const TOP = 6;
const BOTTOM = 18;

/** What the check saw, as curves with its limit; a click goes to that moment. */
export function EvidenceChart({ finding, clock }: { finding: EpisodeFinding; clock: Clock }) {
  return evidenceOf(finding).map((each) => (
    <Chart key={each.curves[0]?.name} finding={finding} evidence={each} clock={clock} />
  ));
}

function Chart({
  finding,
  evidence,
  clock,
}: {
  finding: EpisodeFinding;
  evidence: Evidence;
  clock: Clock;
}) {
  const cursor = useRef<SVGLineElement>(null);
  const from = evidence.timeS?.[0] ?? 0;
  const to = evidence.timeS?.[evidence.timeS.length - 1] ?? 0;
  useEffect(() => {
    if (to <= from) return;
    return clock.subscribe((timeNs) => {
      const share = (timeNs / 1e9 - from) / (to - from);
      const x = String(LEFT + share * (WIDTH - LEFT - RIGHT));
      cursor.current?.setAttribute("x1", x);
      cursor.current?.setAttribute("x2", x);
      cursor.current?.setAttribute("visibility", share >= 0 && share <= 1 ? "visible" : "hidden");
    });
  }, [clock, from, to]);
  const seek = (event: Press<SVGSVGElement>) => {
    if (!evidence.timeS) return;
    const box = event.currentTarget.getBoundingClientRect();
    const share =
      (((event.clientX - box.left) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT);
    clock.pause();
    clock.seek(Math.round((from + Math.min(Math.max(share, 0), 1) * (to - from)) * 1e9));
  };
  return (
    <figure className="evidence">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={words(finding, evidence)}
        onPointerDown={seek}
      >
        <Frame evidence={evidence} />
        {evidence.timeS && <Spans finding={finding} from={from} to={to} />}
        {evidence.limit !== null && (
          <line
            className="evidence-limit"
            x1={LEFT}
            x2={WIDTH - RIGHT}
            y1={y(evidence, evidence.limit)}
            y2={y(evidence, evidence.limit)}
          />
        )}
        {evidence.curves.map(({ name, values }, place) => (
          <polyline
            key={name}
            className={`evidence-line evidence-line-${place + 1}`}
            points={points(evidence, values)}
          />
        ))}
        <line
          ref={cursor}
          className="evidence-cursor"
          y1={TOP}
          y2={HEIGHT - BOTTOM}
          visibility="hidden"
        />
      </svg>
      <figcaption>
        {evidence.curves.map(({ name }, place) => (
          <span key={name}>
            <i className={`evidence-key evidence-key-${place + 1}`} /> {curveName(name)}
          </span>
        ))}
        {evidence.limit !== null && (
          <span>
            <i className="evidence-key evidence-key-limit" /> limit
          </span>
        )}
      </figcaption>
    </figure>
  );
}

function Frame({ evidence }: { evidence: Evidence }) {
  const { timeS, low, high, curves } = evidence;
  const first = timeS?.[0] ?? 0;
  const last = timeS?.[timeS.length - 1] ?? (curves[0]?.values.length ?? 1) - 1;
  return (
    <g className="evidence-frame">
      <line x1={LEFT} x2={WIDTH - RIGHT} y1={HEIGHT - BOTTOM} y2={HEIGHT - BOTTOM} />
      <text x={LEFT - 4} y={TOP + 8} textAnchor="end">
        {short(high, high - low)}
      </text>
      <text x={LEFT - 4} y={HEIGHT - BOTTOM} textAnchor="end">
        {short(low, high - low)}
      </text>
      <text x={LEFT} y={HEIGHT - 5}>
        {short(first, last - first)}
      </text>
      <text x={WIDTH - RIGHT} y={HEIGHT - 5} textAnchor="end">
        {short(last, last - first)} {timeS ? "s" : ""}
      </text>
    </g>
  );
}

/** Where the finding says that it is. */
function Spans({ finding, from, to }: { finding: EpisodeFinding; from: number; to: number }) {
  const across = (timeNs: number) => {
    const share = (timeNs / 1e9 - from) / Math.max(to - from, 1e-9);
    return LEFT + Math.min(Math.max(share, 0), 1) * (WIDTH - LEFT - RIGHT);
  };
  return (
    <g>
      {finding.spans.slice(0, 200).map(({ first, start_ns, end_ns }) => (
        <rect
          key={first}
          className={`evidence-span evidence-span-${finding.severity}`}
          x={across(start_ns)}
          width={Math.max(across(end_ns) - across(start_ns), 1.5)}
          y={TOP}
          height={HEIGHT - TOP - BOTTOM}
        />
      ))}
    </g>
  );
}

function points({ timeS, low, high, curves }: Evidence, values: (number | null)[]): string {
  const longest = Math.max(...curves.map((each) => each.values.length));
  const along = timeS ?? Array.from({ length: longest }, (_, place) => place);
  const begin = along[0] ?? 0;
  const width = (along[along.length - 1] ?? 1) - begin || 1;
  return values
    .map((value, place) => {
      if (value === null) return null;
      const x = LEFT + (((along[place] ?? 0) - begin) / width) * (WIDTH - LEFT - RIGHT);
      return `${x.toFixed(1)},${y({ low, high }, value).toFixed(1)}`;
    })
    .filter((each) => each !== null)
    .join(" ");
}

function y({ low, high }: { low: number; high: number }, value: number): number {
  return TOP + (HEIGHT - TOP - BOTTOM) * (1 - (value - low) / (high - low));
}

/** A number with as many places as the range it is part of needs. */
function short(value: number, range: number): string {
  if (Math.abs(value) >= 1e4) return value.toExponential(1);
  const places = Math.min(Math.max(2 - Math.floor(Math.log10(Math.max(range, 1e-6))), 0), 6);
  return String(Number(value.toFixed(places)));
}

function words(finding: EpisodeFinding, { curves, timeS }: Evidence): string {
  return `${curves.map(({ name }) => name).join(", ")} ${timeS ? "over time" : "in order"}, as ${checkTitle(finding.check)} saw it`;
}
