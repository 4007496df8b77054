// One picture of the screen draws everything that has changed, once.

const waiting = new Set<() => void>();
let frame = 0;

function run(): void {
  frame = 0;
  const all = [...waiting];
  waiting.clear();
  for (const draw of all) draw();
}

export function redraw(draw: () => void): void {
  waiting.add(draw);
  if (!frame) frame = requestAnimationFrame(run);
}

export function forget(draw: () => void): void {
  waiting.delete(draw);
}
