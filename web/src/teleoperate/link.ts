// The socket to the robot's side: what is known of it, kept for the page, and what the page tells it.
import { type Framed, unframed } from "../api/framed";
import type { HostMessage, HostState, PictureHead, Welcome } from "./host";
import type { Command, OperatorInput } from "./input";
import { encodeInput, VERSION } from "./wire";

export type Picture = Framed<PictureHead>;

export interface LinkView {
  status: "connecting" | "open" | "lost";
  welcome: Welcome | null;
  /** Null as long as nothing is known, and once the link is lost: an old state is no state. */
  state: HostState | null;
  /** There and back over the socket, ms. */
  roundTripMs: number | null;
  /** What the robot's side said last of what it cannot do. */
  refusal: string | null;
  pictureAgeMs: number | null;
}

const pingMs = 1000;
const clockAgesMs = 0.05;
const againMs = 1000;
/** `state` comes 20 times a second: without one for so long, what the page shows is not true. */
const silentMs = 1000;
/** Input that the socket has not taken yet is old: do not add to it. */
const mostWaitingBytes = 16_384;

export class Link {
  private socket: WebSocket | null = null;
  private sequence = 0;
  private view: LinkView = {
    status: "connecting",
    welcome: null,
    state: null,
    roundTripMs: null,
    refusal: null,
    pictureAgeMs: null,
  };
  private readonly listeners = new Set<() => void>();
  private readonly pictureListeners = new Set<(picture: Picture) => Promise<void>>();
  /** By camera: a picture that came while one is drawn; null while there is none. */
  private readonly waiting = new Map<string, Picture | null>();
  private readonly pings: number;
  private again = 0;
  private heardMs = 0;
  /** The smallest of host's clock less ours seen in pongs: see `pictureAgeMs`. */
  private hostOffsetMs: number | null = null;
  private quickestMs = Number.POSITIVE_INFINITY;

  constructor(
    private readonly url: string,
    private readonly device: string,
  ) {
    this.open();
    this.pings = window.setInterval(this.watch, pingMs / 2);
  }

  read = (): LinkView => this.view;

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Whoever shows pictures is given the newest, when the last is drawn. */
  onPicture(listener: (picture: Picture) => Promise<void>): () => void {
    this.pictureListeners.add(listener);
    return () => this.pictureListeners.delete(listener);
  }

  /** An input, as a message of its own. */
  send(input: OperatorInput): void {
    const { socket } = this;
    // Whoever looks on does not drive: the host would refuse every message, and say so on the page.
    const { welcome } = this.view;
    if (!welcome || welcome.role === "spectator") return;
    if (socket?.readyState !== WebSocket.OPEN || socket.bufferedAmount > mostWaitingBytes) return;
    socket.send(encodeInput(input, this.sequence, performance.now()));
    this.sequence += 1;
  }

  command = (command: Command, reason = ""): void => {
    this.tell({ kind: "command", command, reason });
    this.change({ refusal: null });
  };

  close(): void {
    clearInterval(this.pings);
    clearTimeout(this.again);
    const { socket } = this;
    this.socket = null;
    socket?.close();
  }

  private tell(message: Record<string, unknown>): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  private open = (): void => {
    const socket = new WebSocket(this.url);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.sequence = 0;
      this.heardMs = performance.now();
      this.tell({
        kind: "hello",
        version: VERSION,
        device: this.device.slice(0, 200),
        time_origin_ms: performance.timeOrigin,
      });
      this.watch();
    };
    socket.onmessage = ({ data }) => {
      if (typeof data === "string") this.hear(data);
      else void this.showPicture(unframed<PictureHead>(data as ArrayBuffer));
    };
    socket.onclose = () => {
      if (this.socket !== socket) return;
      this.change({ status: "lost", state: null, roundTripMs: null, pictureAgeMs: null });
      this.again = window.setTimeout(this.open, againMs);
    };
    this.socket = socket;
  };

  private watch = (): void => {
    if (this.socket?.readyState !== WebSocket.OPEN) return;
    if (this.view.state && performance.now() - this.heardMs > silentMs) {
      // The socket stands open, and nothing comes: what is on the screen is old.
      this.change({ status: "lost", state: null });
    }
    // Two clocks drift: what was quickest once gives way to what is nearly as quick now.
    this.quickestMs += clockAgesMs;
    this.tell({
      kind: "ping",
      sent_ms: performance.now(),
      ...(this.hostOffsetMs !== null && {
        host_offset_ms: this.hostOffsetMs,
        round_trip_ms: this.quickestMs,
      }),
    });
  };

  private hear(text: string): void {
    const message = parsed(text);
    if (message?.kind === "welcome") this.change({ status: "open", welcome: message });
    else if (message?.kind === "state") {
      this.heardMs = performance.now();
      this.change({ status: "open", state: message });
    } else if (message?.kind === "pong") this.hearPong(message);
    else if (message?.kind === "error") this.change({ refusal: message.message });
    else if (message?.kind === "event" && message.event.endsWith("refused"))
      this.change({ refusal: [message.event, message.cause].filter(Boolean).join(": ") });
  }

  private hearPong(message: { sent_ms: number; host_ns?: number }): void {
    const now = performance.now();
    const roundTripMs = now - message.sent_ms;
    if (message.host_ns && roundTripMs < this.quickestMs) {
      this.quickestMs = roundTripMs;
      this.hostOffsetMs = message.host_ns / 1e6 - (message.sent_ms + now) / 2;
    }
    this.change({ roundTripMs });
  }

  /** One picture of a camera is drawn at a time; of those that come meanwhile only the newest is. */
  private async showPicture(picture: Picture): Promise<void> {
    const { camera } = picture.head;
    if (this.waiting.has(camera)) {
      this.waiting.set(camera, picture);
      return;
    }
    let next: Picture | null = picture;
    while (next) {
      this.waiting.set(camera, null);
      const shown: Picture = next;
      await Promise.all([...this.pictureListeners].map((listener) => listener(shown)));
      if (this.hostOffsetMs !== null) {
        const ageMs = performance.now() + this.hostOffsetMs - shown.head.time_ns / 1e6;
        // Half a round trip uncertain: an age below nothing says only that it is not known yet.
        this.change({ pictureAgeMs: ageMs > 0 ? ageMs : null });
      }
      next = this.waiting.get(camera) ?? null;
    }
    this.waiting.delete(camera);
  }

  private change(part: Partial<LinkView>): void {
    this.view = { ...this.view, ...part };
    for (const listener of this.listeners) listener();
  }
}

function parsed(text: string): HostMessage | null {
  try {
    return JSON.parse(text) as HostMessage;
  } catch {
    // Not from a robot's side: nothing to show.
    return null;
  }
}
