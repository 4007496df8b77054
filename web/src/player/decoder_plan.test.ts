import { describe, expect, it } from "vitest";
import { blockOf, blocksOf, decodeFrom, framesAhead, keyBefore } from "./decoder_plan";

function movie(sizes: number[], keyEvery: number, begin = 100) {
  const start = new Float64Array(sizes.length);
  let place = begin;
  sizes.forEach((size, frame) => {
    start[frame] = place;
    place += size;
  });
  const key = Uint8Array.from(sizes, (_, frame) => (frame % keyEvery === 0 ? 1 : 0));
  return { start, size: Float64Array.from(sizes), key };
}

describe("blocks of a movie", () => {
  it("hold every frame once, in order, and begin with a key frame", () => {
    for (const keyEvery of [1, 2, 7, 32]) {
      const packets = movie(
        Array.from({ length: 500 }, (_, n) => 900 + ((n * 7919) % 40_000)),
        keyEvery,
      );
      const blocks = blocksOf(packets);
      expect(blocks[0]?.first).toBe(0);
      expect(blocks.at(-1)?.stop).toBe(500);
      blocks.forEach((block, number) => {
        if (number) expect(block.first).toBe(blocks[number - 1]?.stop);
        expect(packets.key[block.first]).toBe(1);
        expect(block.from).toBe(packets.start[block.first]);
        expect(block.to).toBe(
          (packets.start[block.stop - 1] as number) + (packets.size[block.stop - 1] as number),
        );
        for (let frame = block.first; frame < block.stop; frame += 1)
          expect(blockOf(blocks, frame)).toBe(number);
      });
    }
  });

  it("stay small when pictures are large", () => {
    const blocks = blocksOf(
      movie(
        Array.from({ length: 60 }, () => 200_000),
        2,
      ),
    );
    for (const { from, to } of blocks) expect(to - from).toBeLessThanOrEqual(600_000);
  });

  it("are cut where packets do not follow each other", () => {
    const packets = movie([10, 10, 10, 10], 4);
    packets.start[2] = 5_000_000;
    packets.start[3] = 5;
    expect(blocksOf(packets).map(({ first, stop }) => [first, stop])).toEqual([
      [0, 2],
      [2, 3],
      [3, 4],
    ]);
  });

  it("of nothing are none", () => expect(blocksOf(movie([], 1))).toEqual([]));
});

describe("decoding begins", () => {
  const key = [1, 0, 0, 1, 0, 0, 0];
  it("at the key frame at or before", () => {
    expect([0, 1, 2, 3, 6].map((frame) => keyBefore(key, frame))).toEqual([0, 0, 0, 3, 3]);
  });
  it("where the decoder stands when the wanted frame follows in the same group", () => {
    expect(decodeFrom(key, 2, 1)).toBe(1);
    expect(decodeFrom(key, 5, 5)).toBe(5);
  });
  it("at the key frame after a jump, back or on", () => {
    expect(decodeFrom(key, 5, 1)).toBe(3);
    expect(decodeFrom(key, 1, 6)).toBe(0);
    expect(decodeFrom(key, 4, 7)).toBe(3);
    expect(decodeFrom(key, 4, -1)).toBe(3);
  });
});

describe("frames ahead", () => {
  const stamps = Array.from({ length: 300 }, (_, frame) => Math.round((frame * 1e9) / 30));
  it("are the one of now alone while paused", () => {
    expect(framesAhead(stamps, stamps[10] as number, { isPlaying: false, rate: 4 })).toEqual([10]);
    expect(framesAhead(stamps, -1, { isPlaying: false, rate: 1 })).toEqual([]);
  });
  it("are neighbours at the camera's own speed", () => {
    const found = framesAhead(stamps, stamps[10] as number, { isPlaying: true, rate: 1 });
    expect(found).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18]);
  });
  it("leave out what the screen has no time for", () => {
    const found = framesAhead(stamps, (stamps[10] as number) + 1, { isPlaying: true, rate: 4 });
    expect(found.slice(0, 4)).toEqual([10, 12, 14, 16]);
  });
  it("begin before the first picture and end with the last", () => {
    expect(framesAhead(stamps, -1e7, { isPlaying: true, rate: 1 })[0]).toBe(0);
    expect(framesAhead(stamps, stamps[299] as number, { isPlaying: true, rate: 2 })).toEqual([299]);
  });
});
