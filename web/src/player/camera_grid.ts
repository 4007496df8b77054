// How many columns make the pictures largest in a box.

export interface Grid {
  columns: number;
  rows: number;
}

/** `aspect` is width by height of one picture. */
export function bestGrid(count: number, width: number, height: number, aspect: number): Grid {
  let best: Grid = { columns: 1, rows: Math.max(count, 1) };
  let largest = 0;
  for (let columns = 1; columns <= count; columns += 1) {
    const rows = Math.ceil(count / columns);
    const shown = Math.min(width / columns, (height / rows) * aspect);
    if (shown > largest + 0.5) {
      largest = shown;
      best = { columns, rows };
    }
  }
  return best;
}

/** Where a picture stands across half columns, in the words of CSS: the last row in the middle. */
export function cellColumn(place: number, count: number, columns: number): string {
  const left = count % columns;
  const isFirstOfLast = left > 0 && place === count - left;
  return isFirstOfLast ? `${columns - left + 1} / span 2` : "span 2";
}
