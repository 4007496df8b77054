// Distances as colours: near is warm, far is cold, what was not measured is dark.

const turbo = [
  [0.13572138, 4.6153926, -42.66032258, 132.13108234, -152.94239396, 59.28637943],
  [0.09140261, 2.19418839, 4.84296658, -14.18503333, 4.27729857, 2.82956604],
  [0.1066733, 12.64194608, -60.58204836, 110.36276771, -89.90310912, 27.34824973],
] as const;

/** The ends of the colour map are nearly black, as what was not measured is. */
const ends = [0.07, 0.95] as const;

/** Red, green and blue, 0 to 255, of a share of the colour map. */
export function turboColour(part: number): [number, number, number] {
  const share = ends[0] + part * (ends[1] - ends[0]);
  const channel = (place: 0 | 1 | 2) => {
    const value = turbo[place].reduceRight<number>((sum, factor) => sum * share + factor, 0);
    return Math.round(Math.min(Math.max(value, 0), 1) * 255);
  };
  return [channel(0), channel(1), channel(2)];
}

const palette = new Uint32Array(256);
for (let place = 0; place < 256; place += 1) {
  const [red, green, blue] = turboColour(1 - place / 255);
  palette[place] = (255 << 24) | (blue << 16) | (green << 8) | red;
}
const unmeasured = 0;

/** Write the colours of counts between `near` and `far` into pixels, four bytes each. */
export function colourDepth(
  counts: Uint16Array,
  pixels: Uint32Array,
  near: number,
  far: number,
): void {
  const scale = 255 / Math.max(far - near, 1);
  for (let place = 0; place < counts.length; place += 1) {
    const count = counts[place] as number;
    if (count === 0) {
      pixels[place] = unmeasured;
      continue;
    }
    const step = (count - near) * scale;
    pixels[place] = palette[step < 0 ? 0 : step > 255 ? 255 : step | 0] as number;
  }
}

/** The colour map as a CSS gradient, near at the left. */
export function legendGradient(): string {
  const stops = Array.from(
    { length: 9 },
    (_, place) => `rgb(${turboColour(1 - place / 8).join(" ")})`,
  );
  return `linear-gradient(to right, ${stops.join(", ")})`;
}
