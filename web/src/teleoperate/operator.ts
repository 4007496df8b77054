// Everything of the page that is not drawn by React: the link, the hands, the devices, one loop.
import { DesktopInput } from "./desktop_input";
import { GamePad } from "./game_pad";
import { HeadsetView } from "./headset_view";
import { Keyboard } from "./keyboard";
import { Link } from "./link";
import { SpaceMouse } from "./space_mouse";
import { VirtualHands } from "./virtual_hands";

/** More often than a display draws: a picture that takes long to draw must not hold up the input. */
const frameMs = 1000 / 72;

export class Operator {
  readonly hands = new VirtualHands();
  readonly link: Link;
  readonly spaceMouse = new SpaceMouse(this.hands);
  headset: HeadsetView | null = null;
  private readonly desktop: DesktopInput;
  private readonly timer: number;
  private isNewDevice = false;
  private readonly listeners = new Set<() => void>();

  constructor(socketUrl: string) {
    this.link = new Link(socketUrl, navigator.userAgent);
    const pad = new GamePad(this.hands, this.link.command, this.take);
    this.desktop = new DesktopInput(this.hands, [new Keyboard(this.hands), pad, this.spaceMouse]);
    this.timer = window.setInterval(this.send, frameMs);
    document.addEventListener("visibilitychange", this.send);
    window.addEventListener("blur", this.send);
    window.addEventListener("keydown", this.stopByKey, true);
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  isInHeadset = (): boolean => this.headset !== null;

  /** A demonstration begins, or the one that runs ends. */
  take = (): void => {
    const runs = ["recording", "countdown"].includes(
      this.link.read().state?.recording?.state ?? "",
    );
    this.link.command(runs ? "end" : "start");
  };

  /** Into the headset; refused with a sentence where there is none. */
  async enterHeadset(): Promise<void> {
    if (this.headset) return;
    this.hands.letGo();
    const view = await HeadsetView.open(this.link, this.take, () => {
      this.headset = null;
      // The headset's heading is not the desktop's.
      this.isNewDevice = true;
      this.tell();
    });
    this.headset = view;
    this.tell();
  }

  close(): void {
    clearInterval(this.timer);
    document.removeEventListener("visibilitychange", this.send);
    window.removeEventListener("blur", this.send);
    window.removeEventListener("keydown", this.stopByKey, true);
    this.headset?.end();
    this.desktop.close();
    this.link.close();
  }

  private send = (): void => {
    if (this.headset) return;
    this.link.send(this.desktop.read(performance.now()));
    if (this.isNewDevice) this.link.command("recenter", "the operator left the headset");
    this.isNewDevice = false;
  };

  /** Before anything else on the page hears the key. */
  private stopByKey = (event: KeyboardEvent): void => {
    if (event.key !== "Escape") return;
    this.hands.letGo();
    this.link.command("stop", "Escape");
  };

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}
