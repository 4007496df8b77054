import type { StackMarks } from "../../api/schema";
import { useChartHeight } from "./chart_room";
import { Mark } from "./mark";
import { useRovingFocus } from "./roving_focus";
import { labelled, readingOf, shown, ticks } from "./scale";
import { useWidth } from "./use_width";

const usualHeight = 220;
const edge = { left: 54, right: 20, top: 10, bottom: 28 };

/** Standing bars along time. */
export function StackedColumns({ stacked }: { stacked: StackMarks }) {
  const [frame, width] = useWidth<HTMLDivElement>();
  const height = useChartHeight(usualHeight);
  const { ref, onKeyDown } = useRovingFocus<SVGSVGElement>();
  const totals = stacked.stacks.map((each) =>
    each.segments.reduce((sum, part) => sum + part.value, 0),
  );
  const most = Math.max(...totals, Number.MIN_VALUE) * 1.05;
  const reading = readingOf(stacked.unit, most);
  const room = Math.max(1, width - edge.left - edge.right);
  const step = room / Math.max(1, stacked.stacks.length);
  const thick = Math.min(step * 0.82, 48);
  const y = (value: number) => edge.top + (1 - value / most) * (height - edge.top - edge.bottom);
  const names = labelled(stacked.stacks.length, room, 78);
  return (
    <div ref={frame}>
      <svg
        ref={ref}
        width={width}
        height={height}
        onKeyDown={onKeyDown}
        data-own-arrows
        role="group"
        aria-label={stacked.name}
      >
        {ticks(0, most * reading.factor, Math.min(4, Math.max(2, Math.floor(height / 42)))).map(
          (each) => (
            <g key={each}>
              <line
                className="grid-line"
                x1={edge.left}
                x2={width - edge.right}
                y1={y(each / reading.factor)}
                y2={y(each / reading.factor)}
              />
              <text
                className="tick"
                x={edge.left - 8}
                y={y(each / reading.factor)}
                textAnchor="end"
                dominantBaseline="middle"
              >
                {shown(each / reading.factor, reading)}
              </text>
            </g>
          ),
        )}
        {stacked.stacks.map((stack, place) => {
          const middle = edge.left + (place + 0.5) * step;
          let before = 0;
          return (
            <g key={stack.label}>
              {stack.segments.map((each) => {
                const top = y(before + each.value);
                const size = Math.max(0.5, y(before) - top - 0.5);
                before += each.value;
                return (
                  <Mark key={each.name} detail={each.detail} query={each.query}>
                    <rect
                      className={`bar tone-${each.tone}`}
                      x={middle - thick / 2}
                      y={top}
                      width={thick}
                      height={size}
                    />
                  </Mark>
                );
              })}
              {names.has(place) && (
                <text className="tick" x={middle} y={height - 8} textAnchor="middle">
                  {stack.label.slice(5)}
                </text>
              )}
            </g>
          );
        })}
      </svg>
    </div>
  );
}
