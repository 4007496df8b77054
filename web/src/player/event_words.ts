// Detected events in words.
import type { EventFacts } from "../api/schema";

const words: Record<string, string> = {
  motion_begins: "arm moves",
  motion_ends: "arm rests",
  contact_begins: "fingertips touch",
  contact_ends: "fingertips let go",
  grip_bears: "grip bears load",
  grip_frees: "grip is free",
};

/** "left foot leaves", "base moves". */
export function eventText({ name, side }: Pick<EventFacts, "name" | "side">): string {
  return `${side ? `${side} ` : ""}${words[name] ?? name.replaceAll("_", " ")}`;
}
