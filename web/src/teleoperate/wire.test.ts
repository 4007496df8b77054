import { describe, expect, it } from "vitest";
import type { OperatorInput } from "./input";
import { encodeInput, JOINT_NUMBERS } from "./wire";
import bytes from "./wire_bytes.json";
import cases from "./wire_cases.json";

/** 25 joints upright, each a step further to the right, radius 1/128 m. */
function joints(step: number): Float32Array {
  return new Float32Array(JOINT_NUMBERS).map((_, at) => {
    const column = at % 8;
    if (column === 0) return step * Math.floor(at / 8);
    return column === 6 ? 1 : column === 7 ? 0.0078125 : 0;
  });
}

function inputOf(each: (typeof cases)[number]): OperatorInput {
  const input = structuredClone(each.input) as unknown as OperatorInput;
  if (each.jointStep && input.right) input.right.joints = joints(each.jointStep);
  return input;
}

describe("the message of an input", () => {
  // tests/teleoperation/test_page_bytes.py reads the same bytes with the reader of the robot's side.
  for (const each of cases) {
    it(`is, byte for byte, what the robot's side reads: ${each.name}`, () => {
      const message = encodeInput(inputOf(each), each.sequence, each.sentMs);
      const hex = [...new Uint8Array(message)].map((byte) => byte.toString(16).padStart(2, "0"));
      expect(hex.join("")).toBe((bytes as Record<string, string>)[each.name]);
    });
  }

  it("counts on after the greatest sequence", () => {
    const [first] = cases;
    if (!first) throw new Error("no cases");
    const message = encodeInput(inputOf(first), 2 ** 32, 0);
    expect(new DataView(message).getUint32(8, true)).toBe(0);
  });

  it("has no more buttons and axes than the host takes", () => {
    const input = inputOf(cases[1] as (typeof cases)[number]);
    if (input.left) {
      input.left.buttons = new Array(20).fill(0);
      input.left.axes = new Array(12).fill(0);
    }
    const view = new DataView(encodeInput(input, 0, 0));
    expect([view.getUint8(84 + 32), view.getUint8(84 + 33)]).toEqual([16, 8]);
  });
});
