// @vitest-environment happy-dom
import { afterEach, describe, expect, it, vi } from "vitest";
import { DesktopInput } from "./desktop_input";
import { GamePad } from "./game_pad";
import { Keyboard } from "./keyboard";
import { type Hid, SpaceMouse } from "./space_mouse";
import { VirtualHands } from "./virtual_hands";

function key(type: "keydown" | "keyup", code: string): void {
  window.dispatchEvent(new KeyboardEvent(type, { code, key: code, cancelable: true }));
}

function pad(changes: { axes?: number[]; down?: number[]; trigger?: number }): Gamepad {
  const buttons = Array.from({ length: 17 }, (_, at) => ({
    pressed: changes.down?.includes(at) ?? false,
    touched: false,
    value: at === 7 ? (changes.trigger ?? 0) : 0,
  }));
  const axes = changes.axes ?? [0, 0, 0, 0];
  return { connected: true, mapping: "standard", axes, buttons } as unknown as Gamepad;
}

let input: DesktopInput | null = null;
afterEach(() => {
  input?.close();
  input = null;
  vi.restoreAllMocks();
});

function withKeys(): VirtualHands {
  vi.spyOn(document, "hasFocus").mockReturnValue(true);
  const hands = new VirtualHands();
  input = new DesktopInput(hands, [new Keyboard(hands)]);
  input.read(0);
  return hands;
}

describe("keys", () => {
  it("hold the clutch while Space is down, and send also while nothing moves", () => {
    withKeys();
    key("keydown", "Space");
    expect(input?.read(10).right?.clutch).toBe(true);
    expect(input?.read(20).left?.clutch).toBe(false);
    key("keyup", "Space");
    const still = input?.read(30);
    expect(still?.right?.clutch).toBe(false);
    expect(still?.right?.pose).toEqual(input?.read(40).right?.pose);
  });

  it("move the active hand at a speed, however the frames fall", () => {
    withKeys();
    const before = input?.read(0).right?.pose?.[2] ?? 0;
    key("keydown", "ArrowUp");
    for (const ms of [10, 20, 45, 60, 100]) input?.read(ms);
    const after = input?.read(100).right?.pose?.[2] ?? 0;
    expect(after - before).toBeCloseTo(-0.02, 6);
  });

  it("let go of everything when the page loses the focus", () => {
    const hands = withKeys();
    key("keydown", "Space");
    key("keydown", "KeyW");
    expect(input?.read(10).velocity?.[0]).toBeGreaterThan(0);
    vi.spyOn(document, "hasFocus").mockReturnValue(false);
    const blurred = input?.read(20);
    expect(blurred?.isVisible).toBe(false);
    expect(blurred?.right?.clutch).toBe(false);
    expect(hands.current.isHeld).toBe(false);
    expect(input?.read(30).velocity).toEqual([0, 0, 0]);
  });

  it("do not catch up after a pause", () => {
    withKeys();
    const before = input?.read(0).right?.pose?.[0] ?? 0;
    key("keydown", "ArrowRight");
    const after = input?.read(5000).right?.pose?.[0] ?? 0;
    expect(after - before).toBeLessThan(0.011);
  });

  it("leave the other hand alone once another is chosen", () => {
    const hands = withKeys();
    key("keydown", "Space");
    key("keydown", "Digit1");
    expect(hands.active).toBe("left");
    expect([hands.left.isHeld, hands.right.isHeld]).toEqual([false, false]);
  });
});

describe("a gamepad", () => {
  it("walks with the sticks, and moves the hand whose shoulder button is down", () => {
    const hands = new VirtualHands();
    let now: (Gamepad | null)[] = [null, pad({ axes: [0, -1, 0, 0] })];
    const driver = new GamePad(
      hands,
      () => {},
      () => {},
      () => now,
    );
    expect(driver.drive(hands, 0.01)?.[0]).toBeCloseTo(0.5);
    const before = hands.right.position.clone();
    now = [pad({ axes: [0, -1, 0, 0], down: [5], trigger: 0.75 })];
    driver.drive(hands, 0.01);
    expect(driver.drive(hands, 0.01)).toEqual([0, 0, 0]);
    expect(hands.right.isHeld).toBe(true);
    expect(hands.right.grip).toBe(0.75);
    expect(hands.right.position.z).toBeLessThan(before.z);
    now = [];
    driver.drive(hands, 0.01);
    expect(hands.right.isHeld).toBe(false);
  });

  it("stops once with both sticks pressed, and not with a stick at rest", () => {
    const given: string[] = [];
    const hands = new VirtualHands();
    let now = [pad({ down: [10] })];
    const driver = new GamePad(
      hands,
      (command) => given.push(command),
      () => given.push("take"),
      () => now,
    );
    driver.drive(hands, 0.01);
    expect(given).toEqual([]);
    now = [pad({ down: [10, 11] })];
    driver.drive(hands, 0.01);
    driver.drive(hands, 0.01);
    expect(given).toEqual(["stop"]);
    now = [pad({ down: [9], axes: [0.1, -0.1, 0.05, 0] })];
    expect(driver.drive(hands, 0.01)?.map(Math.abs)).toEqual([0, 0, 0]);
    expect(given).toEqual(["stop", "take"]);
  });
});

describe("a SpaceMouse", () => {
  class Device extends EventTarget {
    opened = true;
    productName = "SpaceMouse";
    open = async () => {};
    close = async () => {};

    report(reportId: number, values: number[]): void {
      const data = new DataView(new ArrayBuffer(2 * values.length));
      values.forEach((value, at) => {
        data.setInt16(2 * at, value, true);
      });
      this.dispatchEvent(Object.assign(new Event("inputreport"), { reportId, data }));
    }
  }

  it("moves while deflected, and rests when it says nothing any more or is pulled out", async () => {
    const device = new Device();
    const hid = Object.assign(new EventTarget(), {
      requestDevice: async () => [device],
      getDevices: async () => [],
    }) as unknown as Hid;
    const hands = new VirtualHands();
    const mouse = new SpaceMouse(hands, hid);
    await mouse.request();
    const clock = vi.spyOn(performance, "now").mockReturnValue(1000);
    device.report(1, [350, 0, 350]);
    device.report(3, [1]);
    const before = hands.right.position.clone();
    mouse.drive(hands, 0.1);
    expect(hands.right.position.x - before.x).toBeCloseTo(0.025);
    expect(hands.right.position.y - before.y).toBeCloseTo(-0.025);
    expect(hands.right.isHeld).toBe(true);
    clock.mockReturnValue(1300);
    const rest = hands.right.position.clone();
    mouse.drive(hands, 0.1);
    expect(hands.right.position).toEqual(rest);
    hid.dispatchEvent(Object.assign(new Event("disconnect"), { device }));
    expect(hands.right.isHeld).toBe(false);
  });
});
