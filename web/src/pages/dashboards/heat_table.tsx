import { browseAddress } from "../../api/dashboards";
import type { HeatCell, HeatMarks } from "../../api/schema";
import { useRovingFocus } from "./roving_focus";

// More of the colour than this, and the number in the cell is hard to read.
const strongest = 48;

/** A table coloured by value; arrows go from cell to cell, empty cells say what to collect. */
export function HeatTable({ heat }: { heat: HeatMarks }) {
  const { ref, onKeyDown } = useRovingFocus<HTMLTableElement>(heat.columns.length);
  return (
    <div className="heat-scroll">
      <table ref={ref} className="heat" onKeyDown={onKeyDown} data-own-arrows role="grid">
        <thead>
          <tr>
            <th scope="col" className="heat-corner">
              {heat.row_name} \ {heat.column_name}
            </th>
            {heat.columns.map((each) => (
              <th key={each} scope="col">
                {each}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {heat.cells.map((line, place) => (
            <tr key={heat.rows[place]}>
              <th scope="row">{heat.rows[place]}</th>
              {line.map((each, column) => (
                <td key={heat.columns[column]} role="gridcell">
                  <HeatTableCell cell={each} heat={heat} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {heat.empty_means && (
        <p className="heat-key">
          <span className="heat-cell heat-empty" aria-hidden>
            +
          </span>
          no accepted episode yet: {heat.empty_means}
        </p>
      )}
    </div>
  );
}

function HeatTableCell({ cell, heat }: { cell: HeatCell; heat: HeatMarks }) {
  const href = browseAddress(cell.query);
  const share = cell.value === null ? 0 : Math.min(1, cell.value / heat.most);
  const style = share
    ? {
        background: `color-mix(in srgb, var(--${heat.tone}) ${Math.round(6 + Math.sqrt(share) * (strongest - 6))}%, var(--card))`,
      }
    : undefined;
  const name = cell.empty
    ? "heat-cell heat-empty"
    : cell.value === null
      ? "heat-cell heat-none"
      : "heat-cell";
  const inside = cell.empty ? "+" : cell.text;
  if (href === null) {
    return (
      <span
        data-mark
        data-detail={cell.detail}
        role="img"
        aria-label={cell.detail}
        className={name}
        style={style}
      >
        {inside}
      </span>
    );
  }
  return (
    <a
      data-mark
      data-detail={cell.detail}
      href={href}
      aria-label={`${cell.detail}. Open these episodes`}
      className={name}
      style={style}
    >
      {inside}
    </a>
  );
}
