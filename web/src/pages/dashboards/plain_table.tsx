import type { PlainTable as Table } from "./as_table";

const most = 500;
const date = /^\d{4}-\d{2}-\d{2}/;

/** A table of texts; a row that has episodes behind it is a link in its first cell. */
export function PlainTable({ table, tones }: { table: Table; tones?: string[] }) {
  return (
    <div className="plain-table-scroll">
      <table className="plain-table">
        <thead>
          <tr>
            {table.columns.map((each, place) => (
              <th key={`${place}${each}`} scope="col">
                {each}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.slice(0, most).map((row, place) => (
            <tr key={place} className={tones?.[place] ? `row-${tones[place]}` : undefined}>
              {row.cells.map((each, column) => (
                <td key={column} className={date.test(each) ? "num date" : undefined}>
                  {column === 0 && row.href ? <a href={row.href}>{each}</a> : each}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {table.rows.length > most && (
        <p className="muted">
          The first {most} of {table.rows.length} rows.
        </p>
      )}
    </div>
  );
}
