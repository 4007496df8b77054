// A chart as a file: its numbers as CSV, what is drawn as PNG.
import type { Payload } from "../../api/dashboards";

type Cell = string | number | null;

/** The numbers as they are, not rounded for reading; one line for each mark, with its episodes. */
export function rowsOf(payload: Payload): Cell[][] {
  switch (payload.kind) {
    case "line":
      return [
        ["label", "at", payload.name, "episodes", "lower_limit", "upper_limit", "judged", "query"],
        ...payload.points.map((each) => [
          each.label,
          each.at,
          each.value,
          each.size,
          each.lower,
          each.upper,
          each.state,
          each.query,
        ]),
      ];
    case "bars":
      return [
        ["label", payload.name, "query"],
        ...payload.bars.map(({ label, value, query }) => [label, value, query]),
      ];
    case "stacked":
      return [
        ["label", "part", payload.name, "query"],
        ...payload.stacks.flatMap(({ label, segments }) =>
          segments.map(({ name, value, query }) => [label, name, value, query]),
        ),
      ];
    case "heat":
      return [
        [payload.row_name, payload.column_name, "value", "query"],
        ...payload.cells.flatMap((cells, row) =>
          cells.map(({ value, query }, column) => [
            payload.rows[row] ?? "",
            payload.columns[column] ?? "",
            value,
            query,
          ]),
        ),
      ];
    case "histogram":
      return [
        ["from", "to", "episodes", "query"],
        ...payload.bins.map(({ low, high, count, query }) => [low, high, count, query]),
      ];
    case "table":
      return [payload.columns, ...payload.rows.map(({ cells }) => cells)];
    case "figures":
      return [
        ["label", "value", "made of", "query"],
        ...payload.figures.map(({ label, value, detail, query }) => [label, value, detail, query]),
      ];
  }
}

export function toCsv(rows: Cell[][]): string {
  return `${rows.map((cells) => cells.map(quoted).join(",")).join("\r\n")}\r\n`;
}

function quoted(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return String(cell);
  // A spreadsheet takes what begins like a formula for one.
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function saveCsv(name: string, payload: Payload): void {
  save(`${name}.csv`, new Blob([toCsv(rowsOf(payload))], { type: "text/csv" }));
}

/** What is on the screen, twice as fine: title, answer and drawing. */
export async function savePng(name: string, card: HTMLElement): Promise<void> {
  const { width, height } = card.getBoundingClientRect();
  const copy = card.cloneNode(true) as HTMLElement;
  copyLook(card, copy);
  for (const each of copy.querySelectorAll(".chart-tools, .chart-tip")) each.remove();
  copy.style.margin = "0";
  const inside = new XMLSerializer().serializeToString(copy);
  const drawing = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><foreignObject width="100%" height="100%">${inside}</foreignObject></svg>`;
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawing)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(2 * width);
  canvas.height = Math.round(2 * height);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (!blob) throw new Error("The browser cannot draw this chart as a picture. Take the CSV.");
  save(`${name}.png`, blob);
}

/** A picture has no style sheet: every element carries its own look. */
function copyLook(from: Element, to: Element): void {
  const look = getComputedStyle(from);
  const styled = to as HTMLElement | SVGElement;
  for (const name of look) styled.style.setProperty(name, look.getPropertyValue(name));
  const [ours, theirs] = [from.children, to.children];
  for (let place = 0; place < ours.length; place += 1) {
    const [one, other] = [ours[place], theirs[place]];
    if (one && other) copyLook(one, other);
  }
}

function save(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
