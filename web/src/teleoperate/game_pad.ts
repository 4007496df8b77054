// A gamepad with the standard mapping: shoulders are clutches, triggers are grips, sticks move.
import { Vector3 } from "three";
import type { GiveCommand } from "./input";
import type { HandDriver, VirtualHands } from "./virtual_hands";

const speedMs = 0.3;
const turnRadS = 1;
const deadZone = 0.15;
const walk = { ahead: 0.5, left: 0.25, turn: 0.6 };
const buttons = { leftClutch: 4, rightClutch: 5, leftGrip: 6, rightGrip: 7, hold: 8, take: 9 };
const sticks = [10, 11];

/** A stick's deflection without the play about its middle. */
export function beyondPlay(value: number): number {
  const size = Math.max(Math.abs(value) - deadZone, 0) / (1 - deadZone);
  return Math.sign(value) * size;
}

export class GamePad implements HandDriver {
  readonly device = "gamepad";
  private pressedBefore: ReadonlySet<number> = new Set();
  private wasThere = false;

  constructor(
    private readonly hands: VirtualHands,
    private readonly give: GiveCommand,
    /** A demonstration begins, or ends. */
    private readonly take: () => void,
    private readonly pads: () => readonly (Gamepad | null)[] = () =>
      navigator.getGamepads?.() ?? [],
  ) {}

  drive(hands: VirtualHands, sinceS: number): readonly [number, number, number] | null {
    const pad = this.pads().find((each) => each?.connected && each.mapping === "standard");
    if (!pad) {
      // Unplugged while it held a clutch: nobody is there to let go.
      if (this.wasThere) this.rest();
      this.wasThere = false;
      return null;
    }
    this.wasThere = true;
    this.takeButtons(pad);
    const [x = 0, y = 0, u = 0, v = 0] = pad.axes.slice(0, 4).map(beyondPlay);
    const held = [hands.left, hands.right].filter((hand) => hand.isHeld);
    if (!held.length) return [-y * walk.ahead, -x * walk.left, -u * walk.turn];
    for (const hand of held) {
      hand.move(new Vector3(x, -v, y).multiplyScalar(speedMs * sinceS));
      hand.turn(new Vector3(0, -u, 0).multiplyScalar(turnRadS * sinceS));
    }
    return [0, 0, 0];
  }

  rest(): void {
    this.hands.letGo("left shoulder");
    this.hands.letGo("right shoulder");
    this.pressedBefore = new Set();
  }

  close(): void {
    this.rest();
  }

  private takeButtons(pad: Gamepad): void {
    const pressed = new Set(pad.buttons.flatMap((button, at) => (button.pressed ? [at] : [])));
    const isNew = (at: number) => pressed.has(at) && !this.pressedBefore.has(at);
    const hadBoth = sticks.every((at) => this.pressedBefore.has(at));
    if (sticks.every((at) => pressed.has(at)) && !hadBoth)
      this.give("stop", "both sticks of the gamepad");
    if (isNew(buttons.hold)) this.give("hold", "button of the gamepad");
    if (isNew(buttons.take)) this.take();
    for (const side of ["left", "right"] as const) {
      const holder = `${side} shoulder`;
      const isDown = pressed.has(side === "left" ? buttons.leftClutch : buttons.rightClutch);
      if (isDown !== this.hands[side].holders.has(holder)) {
        if (isDown) this.hands.hold(holder, side);
        else this.hands.letGo(holder);
      }
      const trigger = pad.buttons[side === "left" ? buttons.leftGrip : buttons.rightGrip];
      // Keys and buttons of the page may hold the grip too: only a trigger in use decides.
      if (trigger && (trigger.value > 0.02 || this.hands[side].isHeld))
        this.hands[side].grip = trigger.value;
    }
    this.pressedBefore = pressed;
  }
}
