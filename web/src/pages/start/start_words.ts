// Figures of the start page in words.

/** "13.6" and "min": minutes below two hours, hours above. */
export function lengthText(seconds: number): [string, string] {
  if (seconds < 60) return [seconds.toFixed(0), "s"];
  if (seconds < 7200) return [(seconds / 60).toFixed(1), "min"];
  const hours = seconds / 3600;
  return [hours < 100 ? hours.toFixed(1) : Math.round(hours).toLocaleString("en"), "h"];
}

/** "+40 %", "-12 %"; nothing where there was nothing before. */
export function changeText(now: number, before: number): string {
  if (!before) return now ? "new" : "";
  const change = Math.round(100 * (now / before - 1));
  return change === 0 ? "same" : `${change > 0 ? "+" : "−"}${Math.abs(change)} %`;
}

export function queryLink(query: string): string {
  return query ? `/episodes?query=${encodeURIComponent(query)}` : "/episodes";
}
