// When the samples of a stream were taken.
import { getArrays } from "./client";
import { below } from "./episode";

/** All stamps of a stream, however many answers it takes. */
export async function getStamps(
  id: string,
  stream: string,
  signal?: AbortSignal,
): Promise<Float64Array> {
  const parts: Float64Array[] = [];
  let first = 0;
  let total = 1;
  while (first < total) {
    const answer = await getArrays<{ total: number }>(
      below(id, "stamps"),
      { stream, first },
      signal,
    );
    const part = answer.values.time_ns as Float64Array;
    total = answer.facts.total;
    if (!part.length) break;
    parts.push(part);
    first += part.length;
  }
  if (parts.length === 1) return parts[0] as Float64Array;
  const all = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0));
  let place = 0;
  for (const part of parts) {
    all.set(part, place);
    place += part.length;
  }
  return all;
}
