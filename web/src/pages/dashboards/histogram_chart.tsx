import type { HistogramMarks } from "../../api/schema";
import { useChartHeight } from "./chart_room";
import { Mark } from "./mark";
import { useRovingFocus } from "./roving_focus";
import { shown, ticks } from "./scale";
import { useWidth } from "./use_width";

const usualHeight = 220;
const edge = { left: 48, right: 12, top: 16, bottom: 28 };
const plain = { factor: 1, suffix: "" };

/** How many episodes have a value in each step, and where the mean lies. */
export function HistogramChart({ histogram }: { histogram: HistogramMarks }) {
  const [frame, width] = useWidth<HTMLDivElement>();
  const height = useChartHeight(usualHeight);
  const { ref, onKeyDown } = useRovingFocus<SVGSVGElement>();
  const { bins } = histogram;
  const low = bins[0]?.low ?? 0;
  const high = bins[bins.length - 1]?.high ?? 1;
  const most = Math.max(...bins.map((each) => each.count), 1) * 1.05;
  const x = (value: number) =>
    edge.left + ((value - low) / (high - low)) * Math.max(1, width - edge.left - edge.right);
  const y = (count: number) => edge.top + (1 - count / most) * (height - edge.top - edge.bottom);
  return (
    <div ref={frame}>
      <svg
        ref={ref}
        width={width}
        height={height}
        onKeyDown={onKeyDown}
        data-own-arrows
        role="group"
        aria-label={histogram.name}
      >
        {ticks(0, most, Math.min(4, Math.max(2, Math.floor(height / 42))))
          .filter(Number.isInteger)
          .map((each) => (
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
                {shown(each, plain)}
              </text>
            </g>
          ))}
        {bins.map((each) => (
          <Mark key={each.low} detail={each.detail} query={each.query}>
            <rect
              className="reach"
              x={x(each.low)}
              y={edge.top}
              width={Math.max(1, x(each.high) - x(each.low))}
              height={height - edge.top - edge.bottom}
            />
            <rect
              className="bar tone-plain"
              x={x(each.low) + 0.5}
              y={y(each.count)}
              width={Math.max(1, x(each.high) - x(each.low) - 1)}
              height={y(0) - y(each.count)}
            />
          </Mark>
        ))}
        {ticks(low, high, 5).map((each) => (
          <text key={each} className="tick" x={x(each)} y={height - 8} textAnchor="middle">
            {each}
          </text>
        ))}
        {histogram.mean !== null && (
          <g>
            <line
              className="limit"
              x1={x(histogram.mean)}
              x2={x(histogram.mean)}
              y1={edge.top}
              y2={y(0)}
            />
            <text className="limit-label" x={x(histogram.mean)} y={10} textAnchor="middle">
              mean {histogram.mean.toFixed(2)}
            </text>
          </g>
        )}
      </svg>
    </div>
  );
}
