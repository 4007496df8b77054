// Counts and measured values as people read them.

/** `1 episode`, `12,400 episodes`. */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** A check by its title: `Robot fell` of `robot_fell`. */
export function checkTitle(name: string): string {
  const words = name.replaceAll("_", " ").replaceAll("imu", "IMU");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A measured value with its unit: 84.4 ms, 0.31 m, 12 samples. */
export function measureText(value: number, unit: string): string {
  const size = Math.abs(value);
  if (unit === "share") return `${digits(100 * value)} %`;
  if (unit === "s" && size < 1) return `${digits(1000 * value)} ms`;
  if (unit === "Pa" && size >= 1e6) return `${digits(value / 1e6)} MPa`;
  if (unit === "Pa" && size >= 1e3) return `${digits(value / 1e3)} kPa`;
  if (unit === "m" && size < 0.1) return `${digits(1000 * value)} mm`;
  return unit === "1" ? digits(value) : `${digits(value)} ${unit === "deg" ? "°" : unit}`;
}

/** Against what it was held: "84.4 ms, allowed 50 ms"; what is too small, "0.31 m, at least 0.5 m". */
export function againstLimit(value: number, limit: number, unit: string): string {
  const word = value > limit ? "allowed" : "at least";
  return `${measureText(value, unit)}, ${word} ${measureText(limit, unit)}`;
}

function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6 || (size > 0 && size < 1e-4)) return value.toExponential(2);
  return size >= 1000 || Number.isInteger(value)
    ? Math.round(value).toLocaleString("en")
    : String(Number(value.toPrecision(3)));
}
