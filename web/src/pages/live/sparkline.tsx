/** The last half minute of a rate; the rule is what it should be. */
export function Sparkline({ values, nominal }: { values: number[]; nominal: number | null }) {
  const [width, height] = [96, 22];
  const top = Math.max(nominal ? nominal * 1.25 : 0, ...values, 1e-9);
  const at = (value: number) => (height - 1 - (value / top) * (height - 2)).toFixed(1);
  const step = width / 119;
  const begin = width - (values.length - 1) * step;
  const points = values
    .map((value, place) => `${(begin + place * step).toFixed(1)},${at(value)}`)
    .join(" ");
  return (
    <svg
      className="sparkline"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      aria-hidden
    >
      {nominal && <line x1={0} x2={width} y1={at(nominal)} y2={at(nominal)} />}
      <polyline points={points} />
    </svg>
  );
}
