import { afterEach, expect, it, vi } from "vitest";
import type { OperatorInput } from "./input";
import { Link } from "./link";

class Wire {
  static readonly OPEN = 1;
  static last: Wire | null = null;
  readonly sent: unknown[] = [];
  readyState = 1;
  bufferedAmount = 0;
  binaryType = "";
  onopen: (() => void) | null = null;
  onmessage: ((message: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;
  constructor() {
    Wire.last = this;
  }
  send(message: unknown): void {
    this.sent.push(message);
  }
  close(): void {}
}

const still: OperatorInput = {
  isVisible: true,
  origin: 0,
  frameMs: 1,
  predictedMs: null,
  head: null,
  velocity: null,
  left: null,
  right: null,
};

afterEach(() => vi.unstubAllGlobals());

it("sends no input before it knows that it drives, and none where it looks on", () => {
  vi.stubGlobal("WebSocket", Wire);
  vi.stubGlobal("window", globalThis);
  const link = new Link("ws://robot/teleoperate", "test");
  const wire = Wire.last;
  const inputs = () => wire?.sent.filter((message) => message instanceof ArrayBuffer).length;
  wire?.onopen?.();
  link.send(still);
  expect(inputs()).toBe(0);
  for (const [role, count] of [
    ["spectator", 0],
    ["operator", 1],
  ] as const) {
    wire?.onmessage?.({ data: JSON.stringify({ kind: "welcome", role, joints: [], ways: [] }) });
    link.send(still);
    expect(inputs()).toBe(count);
  }
  link.close();
});
