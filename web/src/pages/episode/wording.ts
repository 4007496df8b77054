// Numbers as people read them.
export function bytesText(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = bytes;
  let place = 0;
  while (value >= 1000 && place < units.length - 1) {
    value /= 1000;
    place += 1;
  }
  return `${place === 0 ? value : value.toPrecision(3)} ${units[place]}`;
}

/** Unix nanoseconds as date and time of day in UTC, as everywhere. */
export function dateText(ns: number | null): string | null {
  if (ns === null) return null;
  return `${new Date(ns / 1e6).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

export function durationText(seconds: number | null): string | null {
  if (seconds === null) return null;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}
