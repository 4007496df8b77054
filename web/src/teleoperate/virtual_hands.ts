// Hands that no camera sees: a desktop's devices move them, and the page integrates their poses.
import { Quaternion, Vector3 } from "three";
import { type HandInput, nextSource, SIDES, type Side } from "./input";

const farthestM = 3;

/** One hand; its pose is in the operator's room, and only its way since the clutch was taken counts. */
export class VirtualHand {
  readonly position: Vector3;
  readonly rotation = new Quaternion();
  /** 0 open to 1 shut. */
  grip = 0;
  /** Whoever holds this hand's clutch now, by name: a key, a pointer, a button. */
  readonly holders = new Set<string>();
  private readonly source = nextSource();

  constructor(side: Side) {
    this.position = new Vector3(side === "left" ? -0.2 : 0.2, 1.1, -0.35);
  }

  get isHeld(): boolean {
    return this.holders.size > 0;
  }

  /** Along the axes of the room: x right, y up, z back, m. */
  move(by: Vector3): void {
    this.position.add(by).clampScalar(-farthestM, farthestM);
  }

  /** About axes of the room, rad. */
  turn(by: Vector3): void {
    const angle = by.length();
    if (angle < 1e-9) return;
    const step = new Quaternion().setFromAxisAngle(by.clone().divideScalar(angle), angle);
    this.rotation.premultiply(step).normalize();
  }

  read(): HandInput {
    const { position: p, rotation: q } = this;
    return {
      tracker: "controller",
      source: this.source,
      pose: [p.x, p.y, p.z, q.x, q.y, q.z, q.w],
      isEmulated: false,
      buttons: [this.grip, this.isHeld ? 1 : 0],
      pressed: [this.grip > 0.5, this.isHeld],
      axes: [],
      joints: null,
      clutch: this.isHeld,
    };
  }
}

export class VirtualHands {
  readonly left = new VirtualHand("left");
  readonly right = new VirtualHand("right");
  /** The hand that keys and single-handed devices move. */
  active: Side = "right";
  private readonly listeners = new Set<() => void>();

  get current(): VirtualHand {
    return this[this.active];
  }

  choose(side: Side): void {
    if (side === this.active) return;
    // What held one hand does not hold the other.
    this.letGo();
    this.active = side;
    this.tell();
  }

  hold(holder: string, side: Side = this.active): void {
    this[side].holders.add(holder);
    this.tell();
  }

  /** Everything that held, or `holder` alone, holds no more. */
  letGo(holder?: string): void {
    for (const side of SIDES) {
      if (holder === undefined) this[side].holders.clear();
      else this[side].holders.delete(holder);
    }
    this.tell();
  }

  toggleGrip(side: Side = this.active): void {
    this[side].grip = this[side].grip > 0.5 ? 0 : 1;
    this.tell();
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** What the page shows of the hands, as one word that changes with it. */
  summary = (): string =>
    [this.active, ...SIDES.map((side) => `${this[side].isHeld}${this[side].grip}`)].join(" ");

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}

/** A device that moves virtual hands; `drive` may return the base velocity that it asks for. */
export interface HandDriver {
  readonly device: string;
  drive(hands: VirtualHands, sinceS: number): readonly [number, number, number] | null;
  /** The page lost the focus: whatever was held is held no more. */
  rest(): void;
  close(): void;
}
