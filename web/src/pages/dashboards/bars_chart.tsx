import type { BarMarks } from "../../api/schema";
import { Mark } from "./mark";
import { useRovingFocus } from "./roving_focus";
import { readingOf, shown } from "./scale";
import { useWidth } from "./use_width";

const row = 26;
const numbers = 62;

/** Bars that lie: names to the left, values to the right, a limit across. */
export function BarsChart({ bars }: { bars: BarMarks }) {
  const [frame, width] = useWidth<HTMLDivElement>();
  const { ref, onKeyDown } = useRovingFocus<SVGSVGElement>();
  const most = Math.max(...bars.bars.map((each) => each.value), bars.limit ?? 0, Number.MIN_VALUE);
  const reading = readingOf(bars.unit, most);
  const longest = Math.max(...bars.bars.map((each) => each.label.length));
  const names = Math.min(Math.max(60, longest * 7 + 10), width * 0.4);
  const room = Math.max(1, width - names - numbers);
  const foot = bars.limit === null ? 0 : 20;
  const limit = names + ((bars.limit ?? 0) / most) * room;
  return (
    <div ref={frame}>
      <svg
        ref={ref}
        width={width}
        height={bars.bars.length * row + foot}
        onKeyDown={onKeyDown}
        data-own-arrows
        role="group"
        aria-label={bars.name}
      >
        {bars.bars.map((each, place) => (
          <g key={each.label} aria-hidden className="chart-texts">
            <text
              className="label"
              x={names - 8}
              y={place * row + row / 2}
              textAnchor="end"
              dominantBaseline="central"
            >
              {cut(each.label, names)}
            </text>
            <text
              className="value"
              x={names + (each.value / most) * room + 6}
              y={place * row + row / 2}
              dominantBaseline="central"
            >
              {shown(each.value, reading)}
            </text>
          </g>
        ))}
        {bars.bars.map((each, place) => (
          <Mark key={each.label} detail={each.detail} query={each.query}>
            <rect className="reach" x={0} y={place * row} width={width} height={row} />
            <rect
              className={`bar tone-${each.tone}`}
              x={names}
              y={place * row + 4}
              rx={2}
              width={Math.max(each.value > 0 ? 2 : 0, (each.value / most) * room)}
              height={row - 8}
            />
          </Mark>
        ))}
        {bars.limit !== null && (
          <g>
            <line className="limit" x1={limit} x2={limit} y1={0} y2={bars.bars.length * row + 2} />
            <text
              className="limit-label"
              x={limit}
              y={bars.bars.length * row + 14}
              textAnchor="middle"
            >
              {bars.limit_label}
            </text>
          </g>
        )}
      </svg>
    </div>
  );
}

export function cut(label: string, width: number): string {
  const most = Math.max(4, Math.floor((width - 10) / 6.6));
  return label.length > most ? `${label.slice(0, most - 1)}…` : label;
}
