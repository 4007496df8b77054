import { describe, expect, it } from "vitest";
import { StudioError } from "../../api/client";
import type { DecidedItem } from "../../api/schema";
import { Outbox, type Sending } from "./outbox";

class Memory {
  private readonly values = new Map<string, string>();
  getItem = (name: string) => this.values.get(name) ?? null;
  setItem = (name: string, value: string) => void this.values.set(name, value);
}

function sending(key: string): Sending {
  return { kind: "decision", review: "r", episode: key, body: { key } };
}

const answer = {} as DecidedItem;

describe("Outbox", () => {
  it("keeps a decision before it is sent and forgets it when the server has it", async () => {
    const store = new Memory();
    const sent: string[] = [];
    const box = new Outbox("ada", store, async (each) => {
      expect(new Outbox("ada", store).state.waiting).toHaveLength(2 - sent.length);
      sent.push(each.body.key);
      return answer;
    });
    box.add(sending("one"));
    box.add(sending("two"));
    expect(await box.flush()).toBe(answer);
    expect(sent).toEqual(["one", "two"]);
    expect(box.state.waiting).toEqual([]);
  });

  it("keeps what the server did not take, and tries again by itself", async () => {
    const store = new Memory();
    let isAway = true;
    const send = async () => {
      if (isAway) throw new StudioError(0, "away");
      return answer;
    };
    const box = new Outbox("ada", store, send, 5);
    box.add(sending("one"));
    expect(await box.flush()).toBeNull();
    expect(new Outbox("ada", store, send).state.waiting).toHaveLength(1);
    isAway = false;
    await new Promise((done) => setTimeout(done, 30));
    expect(box.state.waiting).toEqual([]);
  });

  it("puts aside what the server refuses for good, with its sentence, and goes on", async () => {
    const box = new Outbox("ada", new Memory(), async ({ body }) => {
      if (body.key === "one") throw new StudioError(409, "bo has decided this episode already.");
      return answer;
    });
    box.add(sending("one"));
    box.add(sending("two"));
    expect(await box.flush()).toBe(answer);
    expect(box.state.waiting).toEqual([]);
    expect(box.state.refused.map(({ sentence }) => sentence)).toEqual([
      "bo has decided this episode already.",
    ]);
    box.dismiss();
    expect(box.state.refused).toEqual([]);
  });

  it("does not show one person's decisions to another", () => {
    const store = new Memory();
    new Outbox("ada", store).add(sending("one"));
    expect(new Outbox("bo", store).state.waiting).toEqual([]);
  });
});
