// The connection to /api/guide: what the camera sees and how far the capture is; comes back by itself.
import { sendJson } from "../../api/client";
import { unframed } from "../../api/framed";
import type { GuideRequest } from "../../api/schema";

export type GuideCommand = GuideRequest["command"];

export type Point = [number, number];

/** What one picture shows beside what was asked for; as `corporeal calibrate guide` says it. */
export interface Sight {
  words: string;
  outline: Point[] | null;
  place: number | null;
  distance: number | null;
  angle_deg: number | null;
  is_matched: boolean;
  is_good: boolean;
  is_still: boolean;
  is_sharp: boolean;
  is_taken: boolean;
}

export interface Result {
  camera: string;
  views: number;
  mean_px: number | null;
  rms_px: number | null;
  is_good: boolean;
  is_written: boolean;
}

/** How far the capture is. */
export interface Progress {
  state: "guiding" | "written" | "over";
  said: string;
  camera: string;
  cameras: string[];
  done: Result[];
  board: string;
  out: string;
  goal_px: number;
  goal_rms_px: number;
  width: number;
  height: number;
  views: Point[][];
  asked: { outline: Point[]; words: string; leaves_px: number } | null;
  map: { rows: number; columns: number; spread_px: number[] } | null;
  mean_px: number | null;
  rms_px: number | null;
  trouble: string;
}

export interface GuideView {
  link: "connecting" | "open" | "lost" | "none";
  sentence: string;
  progress: Progress | null;
  sight: Sight | null;
  picture: string | null;
}

const longestWait = 3000;
const nothing: GuideView = {
  link: "connecting",
  sentence: "",
  progress: null,
  sight: null,
  picture: null,
};

export class GuideFeed {
  private view: GuideView = nothing;
  private socket: WebSocket | null = null;
  private wait = 250;
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

  read = (): GuideView => this.view;

  private open(): void {
    const scheme = window.location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${window.location.host}/api/guide`);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.wait = 250;
      this.change({ link: "open", sentence: "" });
    };
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data === "string") this.change({ progress: JSON.parse(data) as Progress });
      else this.see(data);
    };
    socket.onclose = ({ code, reason }) => this.lose(socket, code, reason);
    this.socket = socket;
  }

  private lose(socket: WebSocket, code: number, reason: string): void {
    if (socket !== this.socket) return;
    if (code === 4401) window.dispatchEvent(new Event("studio:login"));
    this.change({ link: code === 4404 ? "none" : "lost", sentence: reason });
    // The server ends with the last camera: then nothing is lost.
    if (code >= 4400 || this.view.progress?.state === "over") return;
    this.timer = setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(2 * this.wait, longestWait);
  }

  private close(): void {
    clearTimeout(this.timer);
    const socket = this.socket;
    this.socket = null;
    socket?.close();
    if (this.view.picture) URL.revokeObjectURL(this.view.picture);
    this.view = nothing;
  }

  private see(message: ArrayBuffer): void {
    const { head, jpeg } = unframed<Sight>(message);
    const old = this.view.picture;
    const picture = URL.createObjectURL(new Blob([jpeg], { type: "image/jpeg" }));
    this.change({ sight: head, picture });
    // The old one is let go when the new one has taken its place on the screen.
    if (old) setTimeout(() => URL.revokeObjectURL(old), 1000);
  }

  private change(values: Partial<GuideView>): void {
    this.view = { ...this.view, ...values };
    for (const listener of this.listeners) listener();
  }
}

export function press(command: GuideCommand): Promise<unknown> {
  return sendJson("POST", "/guide", { command });
}

/** Whether one thing of a view is as it should be, and in numbers how far it is off. */
export interface Step {
  name: string;
  isDone: boolean;
  text: string;
}

export function stepsOf(sight: Sight | null): Step[] {
  const seen = sight?.outline != null;
  const place = sight?.place ?? null;
  const distance = sight?.distance ?? null;
  const angle = sight?.angle_deg ?? null;
  return [
    { name: "Place", isDone: place !== null && place <= 0.05, text: percent(place) },
    {
      name: "Distance",
      isDone: distance !== null && Math.abs(distance) <= 0.05,
      text: distance === null ? "–" : `${percent(Math.abs(distance))}${sideOf(distance)}`,
    },
    {
      name: "Tilt",
      isDone: angle !== null && angle <= 10,
      text: angle === null ? "–" : `${angle.toFixed(0)}°`,
    },
    { name: "Still", isDone: seen && Boolean(sight?.is_still), text: "" },
    { name: "Sharp", isDone: seen && Boolean(sight?.is_sharp), text: "" },
  ];
}

function percent(share: number | null): string {
  return share === null ? "–" : `${Math.round(100 * share)} %`;
}

function sideOf(distance: number): string {
  if (Math.abs(distance) <= 0.05) return "";
  return distance > 0 ? " too far" : " too near";
}

/** How near the goal is, from 0 to 1: half as sure as asked is a half. */
export function share(progress: Progress): number {
  const { mean_px, rms_px, goal_px, goal_rms_px } = progress;
  if (mean_px === null || rms_px === null) return 0;
  return Math.min(1, goal_px / mean_px, goal_rms_px / rms_px);
}
