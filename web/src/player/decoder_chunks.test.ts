import { describe, expect, it } from "vitest";
import type { Packets } from "../api/movie";
import { Chunks } from "./decoder_chunks";

const file = Uint8Array.from({ length: 100_000 }, (_, place) => (place * 31) % 251);

function packets(count: number, size: number): Packets {
  return {
    timeNs: Float64Array.from({ length: count }, (_, n) => n * 33e6),
    start: Float64Array.from({ length: count }, (_, n) => 40 + n * size),
    size: new Float64Array(count).fill(size),
    key: Uint8Array.from({ length: count }, (_, n) => (n % 2 ? 0 : 1)),
    width: 16,
    height: 16,
    codec: null,
    description: new Uint8Array(),
  };
}

describe("chunks", () => {
  it("are the bytes of their packets, fetched once", async () => {
    const asked: [number, number][] = [];
    const chunks = new Chunks(packets(200, 400), (range) => {
      asked.push(range);
      return Promise.resolve(file.slice(...range));
    });
    expect(chunks.at(57)).toBeNull();
    await Promise.all([chunks.load(56, 57), chunks.load(57, 57)]);
    expect(chunks.at(57)).toEqual(file.slice(40 + 57 * 400, 40 + 58 * 400));
    expect(asked.length).toBe(1);
  });

  it("let the oldest go when they get too many", async () => {
    const chunks = new Chunks(
      packets(200, 400),
      (range) => Promise.resolve(file.slice(...range)),
      20_000,
    );
    await chunks.load(0, 0);
    for (let frame = 0; frame < 200; frame += 16) await chunks.load(frame, frame);
    expect(chunks.at(0)).toBeNull();
    expect(chunks.at(199)).not.toBeNull();
  });

  it("are asked for again after a failure", async () => {
    let isAway = true;
    const chunks = new Chunks(packets(40, 400), (range) =>
      isAway ? Promise.reject(new Error("away")) : Promise.resolve(file.slice(...range)),
    );
    await expect(chunks.load(3, 3)).rejects.toThrow("away");
    isAway = false;
    await chunks.load(3, 3);
    expect(chunks.at(3)?.length).toBe(400);
  });

  it("are no longer fetched when the wanted frame is far away", async () => {
    const signals: AbortSignal[] = [];
    const chunks = new Chunks(packets(200, 400), (_, signal) => {
      signals.push(signal);
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason)),
      );
    });
    const first = chunks.load(0, 0);
    chunks.dropFar(150);
    expect(signals[0]?.aborted).toBe(true);
    await expect(first).rejects.toHaveProperty("name", "AbortError");
  });
});
