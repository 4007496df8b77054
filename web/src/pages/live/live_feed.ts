// The connection to the server's /api/live: comes back by itself, and tells React what has changed.
import { unframed } from "../../api/framed";
import type { Health, Recorder } from "./health";

const pointsKept = 120;
const longestWait = 5000;

export interface LiveView {
  link: "connecting" | "open" | "lost";
  /** Why there is no connection, where the server has said so. */
  sentence: string;
  isLooking: boolean;
  recorders: Recorder[];
}

interface Told {
  recorders?: string[];
  is_looking?: boolean;
  recorder?: string;
  status?: Recorder["status"];
  sentence?: string;
  health?: Health | null;
}

export class LiveFeed {
  private view: LiveView = { link: "connecting", sentence: "", isLooking: true, recorders: [] };
  private socket: WebSocket | null = null;
  private wait = 500;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly listeners = new Set<() => void>();

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    if (this.listeners.size === 1) this.open();
    return () => {
      this.listeners.delete(listener);
      if (!this.listeners.size) this.close();
    };
  };

  read = (): LiveView => this.view;

  private open(): void {
    const scheme = window.location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${window.location.host}/api/live`);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.wait = 500;
      this.change({ link: "open", sentence: "" });
    };
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data === "string") this.hear(JSON.parse(data) as Told);
      else this.see(data);
    };
    socket.onclose = ({ code, reason }) => this.lose(socket, code, reason);
    this.socket = socket;
  }

  private lose(socket: WebSocket, code: number, reason: string): void {
    if (socket !== this.socket) return;
    if (code === 4401) window.dispatchEvent(new Event("studio:login"));
    this.change({ link: "lost", sentence: reason });
    if (code === 4401 || code === 4403) return;
    this.timer = setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(2 * this.wait, longestWait);
  }

  private close(): void {
    clearTimeout(this.timer);
    const socket = this.socket;
    this.socket = null;
    socket?.close();
    for (const recorder of this.view.recorders)
      Object.values(recorder.pictures).forEach(URL.revokeObjectURL);
    this.view = { link: "connecting", sentence: "", isLooking: true, recorders: [] };
  }

  private hear(told: Told): void {
    if (told.recorders) {
      this.change({ isLooking: told.is_looking ?? false });
      for (const address of told.recorders) this.update(address, {});
      return;
    }
    if (!told.recorder || !told.status) return;
    const before = this.recorder(told.recorder);
    const health = told.health ?? null;
    const history =
      told.status === "connected" && health ? grown(before.history, health) : before.history;
    this.update(told.recorder, {
      status: told.status,
      sentence: told.sentence ?? "",
      health,
      history,
    });
  }

  /** A picture: uint16 length of its head, the head as JSON, the JPEG. */
  private see(message: ArrayBuffer): void {
    const { head, jpeg } = unframed<{ recorder: string; stream: string }>(message);
    const before = this.recorder(head.recorder).pictures;
    const old = before[head.stream];
    const url = URL.createObjectURL(new Blob([jpeg], { type: "image/jpeg" }));
    this.update(head.recorder, { pictures: { ...before, [head.stream]: url } });
    // The old one is let go when the new one has taken its place on the screen.
    if (old) setTimeout(() => URL.revokeObjectURL(old), 1000);
  }

  private recorder(address: string): Recorder {
    const found = this.view.recorders.find((each) => each.address === address);
    return (
      found ?? {
        address,
        status: "searching",
        sentence: "",
        health: null,
        history: {},
        pictures: {},
      }
    );
  }

  private update(address: string, values: Partial<Recorder>): void {
    const next = { ...this.recorder(address), ...values };
    const others = this.view.recorders.filter((each) => each.address !== address);
    const recorders = [...others, next].sort((a, b) => a.address.localeCompare(b.address));
    this.change({ recorders });
  }

  private change(values: Partial<LiveView>): void {
    this.view = { ...this.view, ...values };
    for (const listener of this.listeners) listener();
  }
}

export function grown(history: Record<string, number[]>, health: Health): Record<string, number[]> {
  const next: Record<string, number[]> = {};
  for (const stream of health.streams) {
    const rate = stream.state === "silent" ? 0 : stream.rate_hz;
    next[stream.path] = [...(history[stream.path] ?? []), rate].slice(-pointsKept);
  }
  return next;
}
