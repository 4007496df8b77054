import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Packets } from "../api/movie";
import { MovieDecoder } from "./decoder";
import { Chunks } from "./decoder_chunks";

const size = 50;
let open = 0;
let decoded: number[] = [];
let behaviour: "good" | "holds back" | "fails" = "good";

/** A decoder that gives each picture a little later, and checks that groups begin with a key frame. */
class FakeDecoder {
  state = "unconfigured";
  private next = -1;
  private held: number[] = [];
  constructor(
    private readonly tell: { output: (frame: unknown) => void; error: (error: Error) => void },
  ) {}
  configure() {
    this.state = "configured";
  }
  close() {
    this.state = "closed";
  }
  decode({ type, timestamp }: { type: string; timestamp: number }) {
    if (type !== "key" && timestamp !== this.next)
      throw new Error(`${timestamp} came after ${this.next - 1}`);
    this.next = timestamp + 1;
    decoded.push(timestamp);
    if (behaviour === "fails") {
      setTimeout(() => {
        this.state = "closed";
        this.tell.error(new Error("broken"));
      }, 1);
    } else if (behaviour === "holds back") this.held.push(timestamp);
    else setTimeout(() => this.give(timestamp), 2);
  }
  async flush() {
    this.next = -1;
    for (const timestamp of this.held.splice(0)) this.give(timestamp);
  }
  private give(timestamp: number) {
    if (this.state === "closed") return;
    open += 1;
    this.tell.output({ timestamp, close: () => (open -= 1) });
  }
}

function packets(count: number, keyEvery: number): Packets {
  return {
    timeNs: Float64Array.from({ length: count }, (_, n) => n * 33e6),
    start: Float64Array.from({ length: count }, (_, n) => n * size),
    size: new Float64Array(count).fill(size),
    key: Uint8Array.from({ length: count }, (_, n) => (n % keyEvery ? 0 : 1)),
    width: 16,
    height: 16,
    codec: "avc1.42C00D",
    description: new Uint8Array(7),
  };
}

function watched(keyEvery: number) {
  const movie = packets(300, keyEvery);
  const chunks = new Chunks(movie, ([from, to]) => Promise.resolve(new Uint8Array(to - from)));
  const drawn: number[] = [];
  const giveUp = vi.fn();
  const decoder = new MovieDecoder(movie, chunks, {
    draw: (frame) => drawn.push(frame),
    fail: vi.fn(),
    giveUp,
  });
  return { decoder, drawn, giveUp };
}

beforeEach(() => {
  open = 0;
  decoded = [];
  behaviour = "good";
  vi.useFakeTimers();
  vi.stubGlobal("window", globalThis);
  vi.stubGlobal("VideoDecoder", FakeDecoder);
  vi.stubGlobal(
    "EncodedVideoChunk",
    class {
      constructor(given: object) {
        Object.assign(this, given);
      }
    },
  );
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("a movie's decoder", () => {
  it("draws the wanted frame and nothing else, from its key frame on", async () => {
    const { decoder, drawn } = watched(30);
    decoder.want([65], false);
    await vi.advanceTimersByTimeAsync(50);
    expect(drawn).toEqual([65]);
    expect(decoded).toEqual([60, 61, 62, 63, 64, 65]);
    decoder.want([66], false);
    await vi.advanceTimersByTimeAsync(50);
    expect(decoded.at(-1)).toBe(66);
    expect(decoded.length).toBe(7);
    expect(open).toBe(0);
  });

  it("ends with the last of many jumps and closes every picture", async () => {
    const { decoder, drawn } = watched(2);
    for (const frame of [10, 200, 35, 36, 120, 7, 251]) {
      decoder.want([frame], false);
      await vi.advanceTimersByTimeAsync(1);
    }
    await vi.advanceTimersByTimeAsync(100);
    expect(drawn.at(-1)).toBe(251);
    expect(open).toBe(0);
  });

  it("has the next frames ready while playing, few at a time", async () => {
    const { decoder, drawn } = watched(2);
    for (let now = 20; now < 60; now += 1) {
      decoder.want(
        Array.from({ length: 8 }, (_, n) => now + n),
        true,
      );
      await vi.advanceTimersByTimeAsync(16);
      expect(open).toBeLessThanOrEqual(12);
      expect(drawn.at(-1)).toBe(now);
    }
    decoder.close();
    expect(open).toBe(0);
  });

  it("gets pictures out of a decoder that holds them back", async () => {
    behaviour = "holds back";
    const { decoder, drawn } = watched(30);
    decoder.want([40], false);
    await vi.advanceTimersByTimeAsync(500);
    expect(drawn).toEqual([40]);
    decoder.want([41], false);
    await vi.advanceTimersByTimeAsync(500);
    expect(drawn).toEqual([40, 41]);
  });

  it("gives up after a second failure", async () => {
    behaviour = "fails";
    const { decoder, drawn, giveUp } = watched(2);
    decoder.want([4], false);
    await vi.advanceTimersByTimeAsync(500);
    expect(giveUp).toHaveBeenCalledTimes(1);
    expect(drawn).toEqual([]);
  });
});
