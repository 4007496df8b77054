import type { HeatMarks } from "../../api/schema";
import { Mark } from "./mark";
import { useRovingFocus } from "./roving_focus";
import { useWidth } from "./use_width";

const rowPx = 34;
const edge = { left: 84, right: 96, top: 6, bottom: 18 };

/** One line for each row, all on the same scale of values and of time. */
export function TrendLines({ heat }: { heat: HeatMarks }) {
  const [frame, width] = useWidth<HTMLDivElement>();
  const { ref, onKeyDown } = useRovingFocus<SVGSVGElement>(heat.columns.length);
  const room = Math.max(1, width - edge.left - edge.right);
  const last = Math.max(1, heat.columns.length - 1);
  const x = (column: number) => edge.left + (column / last) * room;
  const height = edge.top + heat.rows.length * rowPx + edge.bottom;
  return (
    <div ref={frame}>
      <svg
        ref={ref}
        width={width}
        height={height}
        onKeyDown={onKeyDown}
        data-own-arrows
        role="group"
        aria-label={`${heat.row_name} over time`}
      >
        {heat.cells.map((cells, row) => {
          const base = edge.top + (row + 1) * rowPx - 5;
          const y = (value: number) => base - (value / heat.most) * (rowPx - 10);
          const known = cells.flatMap((cell, column) =>
            cell.value === null ? [] : [{ cell, value: cell.value, column }],
          );
          const [first, end] = [known[0], known[known.length - 1]];
          return (
            <g key={heat.rows[row]}>
              <text className="label" x={edge.left - 10} y={base - 8} textAnchor="end">
                {short(heat.rows[row] ?? "")}
                <title>{heat.rows[row]}</title>
              </text>
              <line
                className="grid-line"
                x1={edge.left}
                x2={edge.left + room}
                y1={base}
                y2={base}
              />
              <polyline
                className="curve"
                points={known.map(({ value, column }) => `${x(column)},${y(value)}`).join(" ")}
              />
              {known.map(({ cell, value, column }) => (
                <Mark key={column} detail={cell.detail} query={cell.query}>
                  <circle className="reach" cx={x(column)} cy={y(value)} r={8} />
                  <circle className="dot within" cx={x(column)} cy={y(value)} r={3} />
                </Mark>
              ))}
              {first && end && (
                <text className="value" x={edge.left + room + 10} y={base - 8}>
                  {first === end ? end.cell.text : `${first.cell.text} → ${end.cell.text}`}
                </text>
              )}
            </g>
          );
        })}
        <text className="tick" x={edge.left} y={height - 4}>
          {heat.columns[0]}
        </text>
        {heat.columns.length > 1 && (
          <text className="tick" x={edge.left + room} y={height - 4} textAnchor="end">
            {heat.columns[heat.columns.length - 1]}
          </text>
        )}
      </svg>
    </div>
  );
}

function short(name: string): string {
  return name.length > 11 ? `${name.slice(0, 10)}…` : name;
}
