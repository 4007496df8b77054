// The messages between page and robot's side, as docs/spec/teleoperation.md has them.
import type { HandInput, OperatorInput, Pose } from "./input";

export const VERSION = 1;
const headBytes = 84;
const handBytes = 36;
export const JOINT_NUMBERS = 25 * 8;
const mostButtons = 16;
const mostAxes = 8;

/** Writes at a place that moves on; everything is little-endian. */
class Writer {
  private readonly view: DataView;
  private place = 0;

  constructor(readonly buffer: ArrayBuffer) {
    this.view = new DataView(buffer);
  }

  u8(value: number): void {
    this.view.setUint8(this.place, value);
    this.place += 1;
  }

  u16(value: number): void {
    this.view.setUint16(this.place, value, true);
    this.place += 2;
  }

  u32(value: number): void {
    this.view.setUint32(this.place, value, true);
    this.place += 4;
  }

  f64(value: number): void {
    this.view.setFloat64(this.place, value, true);
    this.place += 8;
  }

  f32(values: Iterable<number>): void {
    for (const value of values) {
      this.view.setFloat32(this.place, value, true);
      this.place += 4;
    }
  }
}

function bytesOf(hand: HandInput | null): number {
  if (!hand) return handBytes;
  const numbers = Math.min(hand.buttons.length, mostButtons) + Math.min(hand.axes.length, mostAxes);
  return handBytes + 4 * (numbers + (hand.joints ? JOINT_NUMBERS : 0));
}

const nowhere: Pose = [0, 0, 0, 0, 0, 0, 1];

/** The binary message of an input. */
export function encodeInput(input: OperatorInput, sequence: number, sentMs: number): ArrayBuffer {
  const { head, velocity, left, right } = input;
  const out = new Writer(new ArrayBuffer(headBytes + bytesOf(left) + bytesOf(right)));
  for (const letter of "CTIN") out.u8(letter.charCodeAt(0));
  out.u16(VERSION);
  out.u16((input.isVisible ? 1 : 0) | (head ? 2 : 0) | (velocity ? 4 : 0));
  out.u32(sequence >>> 0);
  out.u32(input.origin);
  out.f64(input.frameMs);
  out.f64(input.predictedMs ?? Number.NaN);
  out.f64(sentMs);
  out.f32(head ?? nowhere);
  out.f32(velocity ?? [0, 0, 0]);
  out.u32(0);
  writeHand(out, left);
  writeHand(out, right);
  return out.buffer;
}

function writeHand(out: Writer, hand: HandInput | null): void {
  if (!hand) {
    out.u32(0);
    out.f32(nowhere);
    out.u32(0);
    return;
  }
  const buttons = hand.buttons.slice(0, mostButtons);
  const axes = hand.axes.slice(0, mostAxes);
  const clutch = hand.clutch === null ? 0 : hand.clutch ? 24 : 8;
  out.u8(hand.tracker === "hand" ? 2 : 1);
  out.u8((hand.pose ? 1 : 0) | (hand.isEmulated ? 2 : 0) | (hand.joints ? 4 : 0) | clutch);
  out.u16(hand.source);
  out.f32(hand.pose ?? nowhere);
  out.u8(buttons.length);
  out.u8(axes.length);
  out.u16(buttons.reduce((bits, _, bit) => bits | (hand.pressed[bit] ? 1 << bit : 0), 0));
  out.f32(buttons);
  out.f32(axes);
  if (hand.joints) out.f32(hand.joints);
}
