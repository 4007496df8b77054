// Colours of a heat map: even steps of lightness, so that twice the light is twice the value.

type Rgb = [number, number, number];

// Dark violet over magenta and orange to pale yellow, as seen on the stage, dark in both themes.
const stops: Rgb[] = [
  [24, 22, 34],
  [62, 24, 94],
  [122, 32, 116],
  [186, 50, 98],
  [234, 94, 58],
  [250, 162, 50],
  [252, 232, 150],
];

/** The colours for 0 to 255, four bytes each. */
export function heatTable(): Uint8ClampedArray {
  const table = new Uint8ClampedArray(256 * 4);
  for (let n = 0; n < 256; n += 1) {
    const place = (n / 255) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    const from = stops[low] as Rgb;
    const to = stops[low + 1] as Rgb;
    for (let part = 0; part < 3; part += 1) {
      table[n * 4 + part] =
        (from[part] as number) + (place - low) * ((to[part] as number) - (from[part] as number));
    }
    table[n * 4 + 3] = 255;
  }
  return table;
}

/** Where a value stands between low and high, 0 to 255; what is no number is the lowest. */
export function heatOf(value: number, low: number, high: number): number {
  const share = (value - low) / (high - low);
  return share > 0 ? Math.min(Math.round(share * 255), 255) : 0;
}

export interface Readout {
  peak: number;
  sum: number;
  mean: number;
}

/** The sizes of all taxels of one sample, written into `sizes`, and what they come to. */
export function readOut(values: ArrayLike<number>, depth: number, sizes: Float32Array): Readout {
  let peak = Number.NEGATIVE_INFINITY;
  let sum = 0;
  let count = 0;
  for (let taxel = 0; taxel < sizes.length; taxel += 1) {
    let size = values[taxel * depth] ?? Number.NaN;
    if (depth > 1) {
      let square = 0;
      for (let part = 0; part < depth; part += 1)
        square += (values[taxel * depth + part] ?? Number.NaN) ** 2;
      size = Math.sqrt(square);
    }
    sizes[taxel] = size;
    if (!Number.isFinite(size)) continue;
    peak = Math.max(peak, size);
    sum += size;
    count += 1;
  }
  return count ? { peak, sum, mean: sum / count } : { peak: Number.NaN, sum: 0, mean: Number.NaN };
}

const steps = ["", "k", "M", "G"];

/** A value with at most three digits and its unit: 457.6 kPa. */
export function unitText(value: number, unit: string): string {
  if (!Number.isFinite(value)) return `– ${unit}`;
  let size = value;
  let step = 0;
  while (Math.abs(size) >= 1000 && step < steps.length - 1 && unit !== "1") {
    size /= 1000;
    step += 1;
  }
  const digits = Math.abs(size) >= 100 || size === 0 ? 0 : Math.abs(size) >= 10 ? 1 : 2;
  return `${size.toFixed(digits)} ${unit === "1" ? "" : steps[step] + unit}`.trim();
}
