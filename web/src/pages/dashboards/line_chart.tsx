import type { LineMarks, LinePoint } from "../../api/schema";
import { useChartHeight } from "./chart_room";
import { Mark } from "./mark";
import { useRovingFocus } from "./roving_focus";
import { dateTicks, rangeOf, readingOf, shown, ticks, timesOf } from "./scale";
import { useWidth } from "./use_width";

const usualHeight = 240;
const edge = { left: 54, right: 14, top: 12, bottom: 30 };

/** Batches in the order of time, the band they should stay in, and those that left it. */
export function LineChart({ line }: { line: LineMarks }) {
  const [frame, width] = useWidth<HTMLDivElement>();
  const height = useChartHeight(usualHeight);
  const { ref, onKeyDown } = useRovingFocus<SVGSVGElement>();
  const { points } = line;
  const bounds = points.flatMap((each) => [
    each.value,
    each.lower ?? each.value,
    each.upper ?? each.value,
  ]);
  const [low, high] = rangeOf(bounds, line.unit);
  const reading = readingOf(line.unit, high);
  const room = Math.max(1, width - edge.left - edge.right);
  const times = timesOf(points);
  const x = (place: number) => edge.left + (times[place] ?? 0) * room;
  const y = (value: number) =>
    edge.top + (1 - (value - low) / (high - low || 1)) * (height - edge.top - edge.bottom);
  const dates = dateTicks(points, Math.max(1, Math.floor(room / 84)));
  return (
    <div ref={frame}>
      <svg
        ref={ref}
        width={width}
        height={height}
        onKeyDown={onKeyDown}
        data-own-arrows
        role="group"
        aria-label={line.name}
      >
        {ticks(low, high, Math.min(5, Math.max(2, Math.floor(height / 42)))).map((each) => (
          <g key={each}>
            <line
              className="grid-line"
              x1={edge.left}
              x2={width - edge.right}
              y1={y(each)}
              y2={y(each)}
            />
            <text
              className="tick"
              x={edge.left - 8}
              y={y(each)}
              textAnchor="end"
              dominantBaseline="middle"
            >
              {shown(each, reading)}
            </text>
          </g>
        ))}
        <path className="band" d={band(points, x, y)} />
        {line.target !== null && (
          <line
            className="target"
            x1={edge.left}
            x2={width - edge.right}
            y1={y(line.target)}
            y2={y(line.target)}
          />
        )}
        <polyline
          className="curve"
          points={points.map((each, place) => `${x(place)},${y(each.value)}`).join(" ")}
        />
        {points.map((each, place) => (
          <Mark key={each.label} detail={each.detail} query={each.query}>
            <circle
              className="reach"
              cx={x(place)}
              cy={y(each.value)}
              r={Math.max(4, Math.min(12, room / points.length / 2))}
            />
            <Dot point={each} x={x(place)} y={y(each.value)} />
          </Mark>
        ))}
        {dates.map(({ share, text }) => (
          <text
            key={text}
            className="tick"
            x={edge.left + share * room}
            y={height - 10}
            textAnchor={share > 0.93 ? "end" : share < 0.07 ? "start" : "middle"}
          >
            {text}
          </text>
        ))}
      </svg>
    </div>
  );
}

/** Out of limits is another shape too, not only another colour. */
function Dot({ point, x, y }: { point: LinePoint; x: number; y: number }) {
  if (point.state === "out") {
    return (
      <path className="dot out" d={`M${x} ${y - 6}L${x + 6} ${y}L${x} ${y + 6}L${x - 6} ${y}Z`} />
    );
  }
  return <circle className={`dot ${point.state}`} cx={x} cy={y} r={3.5} />;
}

function band(
  points: LinePoint[],
  x: (place: number) => number,
  y: (value: number) => number,
): string {
  const known = points.flatMap((each, place) =>
    each.lower === null || each.upper === null
      ? []
      : [{ at: x(place), low: y(each.lower), high: y(each.upper) }],
  );
  if (known.length < 2) return "";
  const above = known.map((each) => `${each.at},${each.high}`).join("L");
  const below = known
    .reverse()
    .map((each) => `${each.at},${each.low}`)
    .join("L");
  return `M${above}L${below}Z`;
}
