import { expect, test } from "vitest";
import { buttonAt, buttonsOf, PANEL } from "./headset_panel";
import type { HostState, Welcome } from "./host";

const state = (part: Partial<HostState>): HostState => part as HostState;
const welcome = (part: Partial<Welcome>): Welcome => part as Welcome;
const labels = (...given: Parameters<typeof buttonsOf>) =>
  Object.fromEntries(buttonsOf(...given).map(({ command, label }) => [command, label]));

test("whoever knelt down can stand up, and whoever records can discard", () => {
  const up = labels(state({ state: "inert" }), welcome({}));
  expect(up.kneel).toBe("Kneel");
  expect(up.stand).toBeUndefined();
  expect(up.discard).toBe("Discard");
  const down = labels(state({ state: "kneeling" }), welcome({}));
  expect(down.stand).toBe("Stand up");
  expect(down.kneel).toBeUndefined();
});

test("a robot whose legs nobody commands here is not asked to kneel", () => {
  const there = labels(state({ state: "inert" }), welcome({ kneels: false }));
  expect(there.kneel).toBeUndefined();
});

test("a policy is handed over to and taken over from, where there is one", () => {
  expect(labels(state({ driver: "human" }), welcome({})).policy).toBeUndefined();
  expect(labels(state({ driver: "human" }), welcome({ policy: true })).policy).toBe(
    "Hand over to the policy",
  );
  expect(labels(state({ driver: "policy" }), welcome({ policy: true })).human).toBe("Take over");
});

test("a countdown can be cancelled", () => {
  const counting = state({ recording: { state: "countdown", countdown_s: 2 } });
  expect(labels(counting, null).take).toBe("Cancel");
});

test("every button is found where it is drawn, and none overlaps another", () => {
  const buttons = buttonsOf(null, welcome({ policy: true }));
  for (const { command, x, y, width, height } of buttons) {
    expect(x + width).toBeLessThanOrEqual(PANEL.width);
    expect(y + height).toBeLessThanOrEqual(PANEL.height);
    for (const [across, down] of [
      [0.02, 0.02],
      [0.98, 0.98],
    ] as const) {
      const u = (x + across * width) / PANEL.width;
      const v = 1 - (y + down * height) / PANEL.height;
      expect(buttonAt(buttons, u, v)?.command).toBe(command);
    }
  }
});
