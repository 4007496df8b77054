// Keys: the clutch, the grip, steps of the active hand, and walking.
import { Vector3 } from "three";
import type { HandDriver, VirtualHands } from "./virtual_hands";

const speedMs = 0.2;
const turnRadS = 0.8;
const walkMs = 0.4;
const walkSidewaysMs = 0.2;
const walkTurnRadS = 0.5;

/** What a key does to the hand while it is down: x right, y up, z back. */
const moves: Record<string, [number, number, number]> = {
  ArrowLeft: [-1, 0, 0],
  ArrowRight: [1, 0, 0],
  ArrowUp: [0, 0, -1],
  ArrowDown: [0, 0, 1],
  PageUp: [0, 1, 0],
  PageDown: [0, -1, 0],
};
/** Ahead, left, turning left. */
const walks: Record<string, [number, number, number]> = {
  KeyW: [walkMs, 0, 0],
  KeyS: [-walkMs, 0, 0],
  KeyA: [0, walkSidewaysMs, 0],
  KeyD: [0, -walkSidewaysMs, 0],
  KeyQ: [0, 0, walkTurnRadS],
  KeyE: [0, 0, -walkTurnRadS],
};

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select");
}

export class Keyboard implements HandDriver {
  readonly device = "keyboard and pointer";
  private readonly down = new Set<string>();
  private isShift = false;

  constructor(private readonly hands: VirtualHands) {
    window.addEventListener("keydown", this.press);
    window.addEventListener("keyup", this.release);
  }

  drive(hands: VirtualHands, sinceS: number): readonly [number, number, number] | null {
    const way = this.sum(moves);
    if (this.isShift)
      hands.current.turn(new Vector3(way[2], -way[0], -way[1]).multiplyScalar(turnRadS * sinceS));
    else hands.current.move(new Vector3(...way).multiplyScalar(speedMs * sinceS));
    return this.sum(walks);
  }

  rest(): void {
    this.down.clear();
    this.isShift = false;
    this.hands.letGo("Space");
  }

  close(): void {
    this.rest();
    window.removeEventListener("keydown", this.press);
    window.removeEventListener("keyup", this.release);
  }

  private sum(from: Record<string, [number, number, number]>): [number, number, number] {
    const total: [number, number, number] = [0, 0, 0];
    for (const code of this.down)
      from[code]?.forEach((value, axis) => {
        total[axis as 0 | 1 | 2] += value;
      });
    return total;
  }

  private press = (event: KeyboardEvent): void => {
    this.isShift = event.shiftKey;
    if (isTyping(event.target) || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.code === "Space") {
      // A button that has the focus is not pressed by the clutch.
      event.preventDefault();
      if (!event.repeat) this.hands.hold("Space");
    } else if (event.code in moves || event.code in walks) {
      event.preventDefault();
      this.down.add(event.code);
    } else if (event.code === "KeyG" && !event.repeat) this.hands.toggleGrip();
    else if (event.code === "Digit1") this.hands.choose("left");
    else if (event.code === "Digit2") this.hands.choose("right");
  };

  private release = (event: KeyboardEvent): void => {
    this.isShift = event.shiftKey;
    this.down.delete(event.code);
    if (event.code === "Space") {
      event.preventDefault();
      this.hands.letGo("Space");
    }
  };
}
