// A desktop or a phone: keys, pointer, gamepad and SpaceMouse move the same two virtual hands.
import type { InputAdapter, OperatorInput } from "./input";
import type { HandDriver, VirtualHands } from "./virtual_hands";

/** After a longer pause the hands do not catch up: they would jump. */
const longestStepS = 0.05;

export class DesktopInput implements InputAdapter {
  readonly device = "desktop";
  private lastMs: number | null = null;

  constructor(
    readonly hands: VirtualHands,
    private readonly drivers: readonly HandDriver[],
  ) {
    window.addEventListener("blur", this.rest);
    document.addEventListener("visibilitychange", this.rest);
  }

  read(frameMs: number): OperatorInput {
    const isVisible = document.visibilityState === "visible" && document.hasFocus();
    if (!isVisible) this.rest();
    const sinceS = Math.min((frameMs - (this.lastMs ?? frameMs)) / 1000, longestStepS);
    this.lastMs = frameMs;
    const velocity: [number, number, number] = [0, 0, 0];
    for (const driver of this.drivers)
      driver.drive(this.hands, sinceS)?.forEach((value, axis) => {
        velocity[axis as 0 | 1 | 2] += value;
      });
    return {
      isVisible,
      origin: 0,
      frameMs,
      predictedMs: null,
      head: null,
      velocity,
      left: this.hands.left.read(),
      right: this.hands.right.read(),
    };
  }

  close(): void {
    window.removeEventListener("blur", this.rest);
    document.removeEventListener("visibilitychange", this.rest);
    for (const driver of this.drivers) driver.close();
  }

  /** Keys that are let go elsewhere are not heard here. */
  private rest = (): void => {
    if (document.visibilityState === "visible" && document.hasFocus()) return;
    for (const driver of this.drivers) driver.rest();
    this.hands.letGo();
  };
}
