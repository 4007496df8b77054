// Pictures packed to their own shapes: rows of one width, so that nothing between them is empty.

export interface Room {
  width: number;
  height: number;
}

export interface Place extends Room {
  left: number;
  top: number;
}

export interface Packing extends Room {
  places: Place[];
}

export const GAP = 2;
const MOST_TRIED = 10;
const FLOW_COLUMNS = 2;

/** The rows, kept in order, that show the most of pictures with these aspects (width by height). */
export function packPictures(aspects: number[], room: Room): Packing {
  let best: Packing = { places: [], width: 0, height: 0 };
  for (const rows of partitions(aspects)) {
    const tried = packRows(rows, room);
    if (tried.width * tried.height > best.width * best.height) best = tried;
  }
  return best;
}

/** Two beside each other, as wide as the page; an odd first one alone. */
export function packFlow(aspects: number[], width: number): Packing {
  const columns = width > 300 ? FLOW_COLUMNS : 1;
  const first = aspects.length % columns;
  const rows = first ? [aspects.slice(0, first)] : [];
  for (let place = first; place < aspects.length; place += columns)
    rows.push(aspects.slice(place, place + columns));
  return packRows(rows, { width, height: Number.POSITIVE_INFINITY });
}

function packRows(rows: number[][], room: Room): Packing {
  const tall = rows.reduce((sum, row) => sum + 1 / total(row), 0);
  const gaps = (rows.length - 1) * GAP;
  const width = Math.max(Math.floor(Math.min(room.width, (room.height - gaps) / tall)), 1);
  const places: Place[] = [];
  let top = 0;
  for (const row of rows) {
    const height = (width - (row.length - 1) * GAP) / total(row);
    let left = 0;
    for (const aspect of row) {
      places.push({ left, top, width: aspect * height, height });
      left += aspect * height + GAP;
    }
    top += height + GAP;
  }
  return { places, width, height: Math.max(top - GAP, 0) };
}

/** All ways to break a list into rows; of many pictures only those with rows of one length. */
function partitions(aspects: number[]): number[][][] {
  const count = aspects.length;
  if (!count) return [];
  if (count > MOST_TRIED)
    return aspects.map((_, less) => {
      const found = [];
      for (let place = 0; place < count; place += less + 1)
        found.push(aspects.slice(place, place + less + 1));
      return found;
    });
  return Array.from({ length: 1 << (count - 1) }, (_, breaks) => {
    const rows: number[][] = [[aspects[0] as number]];
    for (let place = 1; place < count; place += 1) {
      if ((breaks >> (place - 1)) & 1) rows.push([]);
      rows.at(-1)?.push(aspects[place] as number);
    }
    return rows;
  });
}

function total(row: number[]): number {
  return row.reduce((sum, aspect) => sum + aspect, 0);
}
