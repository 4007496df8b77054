import { Fragment } from "react";
import type { StackMarks, StackSegment } from "../../api/schema";
import { cut } from "./bars_chart";
import { Mark } from "./mark";
import { useRovingFocus } from "./roving_focus";
import { useWidth } from "./use_width";

const row = 34;

/** One lying bar for each group, all of the same length, cut into shares. */
export function StackedRows({ stacked }: { stacked: StackMarks }) {
  const [frame, width] = useWidth<HTMLDivElement>();
  const { ref, onKeyDown } = useRovingFocus<SVGSVGElement>();
  const longest = Math.max(...stacked.stacks.map((each) => each.label.length));
  const names = Math.min(Math.max(60, longest * 7 + 10), width * 0.3);
  const room = Math.max(1, width - names);
  const totals = stacked.stacks.map((each) =>
    each.segments.reduce((sum, part) => sum + part.value, 0),
  );
  const most = Math.max(...totals, Number.MIN_VALUE);
  const isToned = Object.keys(stacked.legend).length > 0;
  return (
    <div ref={frame}>
      <svg
        ref={ref}
        width={width}
        height={stacked.stacks.length * row}
        onKeyDown={onKeyDown}
        data-own-arrows
        role="group"
        aria-label={stacked.name}
      >
        {stacked.stacks.map((stack, place) => {
          const whole = stacked.fill ? (totals[place] ?? 1) || 1 : most;
          let before = 0;
          return (
            <g key={stack.label}>
              <text
                className="label"
                x={names - 8}
                y={place * row + 10}
                textAnchor="end"
                dominantBaseline="central"
              >
                {cut(stack.label, names)}
              </text>
              {stack.segments.map((each, part) => {
                const begin = names + (before / whole) * room;
                const size = (each.value / whole) * room;
                before += each.value;
                return (
                  <Fragment key={each.name}>
                    <Mark detail={each.detail} query={each.query}>
                      <rect
                        className={`bar ${isToned ? `tone-${each.tone}` : ""}`}
                        style={isToned ? undefined : hue(part)}
                        x={begin}
                        y={place * row + 2}
                        width={Math.max(0.5, size - 1)}
                        height={16}
                      />
                    </Mark>
                    {!isToned && (
                      <Inside segment={each} x={begin} y={place * row + 10} width={size} />
                    )}
                  </Fragment>
                );
              })}
              <text className="below" x={names} y={place * row + 26} dominantBaseline="central">
                {stack.detail}
              </text>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

/** The name of a part, where there is room for it. */
function Inside({
  segment,
  x,
  y,
  width,
}: {
  segment: StackSegment;
  x: number;
  y: number;
  width: number;
}) {
  if (segment.name.length * 6.4 + 8 > width) return null;
  return (
    <text className="inside" aria-hidden x={x + 5} y={y} dominantBaseline="central">
      {segment.name}
    </text>
  );
}

function hue(place: number) {
  return { fill: `color-mix(in srgb, var(--line-${(place % 10) + 1}) 32%, var(--card))` };
}
