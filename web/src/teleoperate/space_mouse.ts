// A SpaceMouse over WebHID: six axes move the active hand while its first button is held.
import { Vector3 } from "three";
import type { HandDriver, VirtualHands } from "./virtual_hands";

/** The part of WebHID that is used here; TypeScript's own library does not know it. */
export interface HidDevice extends EventTarget {
  readonly opened: boolean;
  readonly productName: string;
  open(): Promise<void>;
  close(): Promise<void>;
}
export interface Hid extends EventTarget {
  requestDevice(options: { filters: Record<string, number>[] }): Promise<HidDevice[]>;
  getDevices(): Promise<HidDevice[]>;
}

const makers: Record<string, number>[] = [
  { vendorId: 0x256f },
  { vendorId: 0x046d, usagePage: 1, usage: 8 },
];
const most = 350;
const play = 0.05;
const speedMs = 0.25;
const turnRadS = 0.9;
/** While it is deflected it reports every few ms: what is older says nothing of now. */
const oldMs = 200;

export function hidOf(): Hid | null {
  return (navigator as Navigator & { hid?: Hid }).hid ?? null;
}

export class SpaceMouse implements HandDriver {
  readonly device = "SpaceMouse";
  private readonly moved = new Vector3();
  private readonly turned = new Vector3();
  private buttons = 0;
  private heardMs = 0;
  private used: HidDevice | null = null;

  constructor(
    private readonly hands: VirtualHands,
    private readonly hid: Hid | null = hidOf(),
  ) {
    this.hid?.addEventListener("disconnect", this.gone);
    void this.hid?.getDevices().then(([known]) => known && this.use(known));
  }

  /** Ask the operator which one; true when there is one now. Only a click may call it. */
  async request(): Promise<boolean> {
    const [chosen] = (await this.hid?.requestDevice({ filters: makers })) ?? [];
    if (chosen) await this.use(chosen);
    return this.used !== null;
  }

  drive(hands: VirtualHands, sinceS: number): null {
    if (!this.used || performance.now() - this.heardMs > oldMs) return null;
    hands.current.move(this.moved.clone().multiplyScalar(speedMs * sinceS));
    hands.current.turn(this.turned.clone().multiplyScalar(turnRadS * sinceS));
    return null;
  }

  rest(): void {
    this.moved.setScalar(0);
    this.turned.setScalar(0);
    this.buttons = 0;
    this.hands.letGo("SpaceMouse");
  }

  close(): void {
    this.hid?.removeEventListener("disconnect", this.gone);
    this.used?.removeEventListener("inputreport", this.hear);
    void this.used?.close();
    this.used = null;
    this.rest();
  }

  private async use(device: HidDevice): Promise<void> {
    if (!device.opened) await device.open();
    device.addEventListener("inputreport", this.hear);
    this.used = device;
  }

  private gone = (event: Event): void => {
    if ((event as Event & { device?: HidDevice }).device !== this.used) return;
    this.used = null;
    this.rest();
  };

  private hear = (event: Event): void => {
    const { reportId, data } = event as Event & { reportId: number; data: DataView };
    this.heardMs = performance.now();
    // The device: x right, y towards the person, z down. The room: x right, y up, z back.
    const triple = (at: number): [number, number, number] => {
      const [x, y, z] = [at, at + 2, at + 4].map((place) => share(data.getInt16(place, true)));
      return [x ?? 0, -(z ?? 0), y ?? 0];
    };
    if (reportId === 1 && data.byteLength >= 6) this.moved.set(...triple(0));
    // Newer ones tell both in one report.
    if (reportId === 1 && data.byteLength >= 12) this.turned.set(...triple(6));
    if (reportId === 2 && data.byteLength >= 6) this.turned.set(...triple(0));
    if (reportId === 3 && data.byteLength >= 1) this.press(data.getUint8(0));
  };

  private press(buttons: number): void {
    const changed = buttons ^ this.buttons;
    this.buttons = buttons;
    if (changed & 1) {
      if (buttons & 1) this.hands.hold("SpaceMouse");
      else this.hands.letGo("SpaceMouse");
    }
    if (changed & buttons & 2) this.hands.toggleGrip();
  }
}

function share(raw: number): number {
  const value = Math.min(Math.max(raw / most, -1), 1);
  return Math.abs(value) < play ? 0 : value;
}
