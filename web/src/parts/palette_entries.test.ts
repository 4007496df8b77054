// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { type Entry, matching, pageButtons } from "./palette_entries";

const entry = (title: string, kind: Entry["kind"] = "action"): Entry => {
  return { kind, title, run: () => undefined };
};

test("every word has to begin a word of the entry", () => {
  const all = [entry("Show or hide what is known"), entry("Labels", "page"), entry("Theme: dark")];
  const titles = (text: string) => matching(all, text).map(({ title }) => title);
  expect(titles("hide show")).toEqual(["Show or hide what is known"]);
  expect(titles("page lab")).toEqual(["Labels"]);
  expect(titles("ide")).toEqual([]);
  expect(titles("")).toHaveLength(3);
});

test("what begins as it was written comes first", () => {
  const found = matching([entry("Open labels"), entry("Labels", "page")], "lab");
  expect(found.map(({ title }) => title)).toEqual(["Labels", "Open labels"]);
});

test("buttons of the page are actions, each once; signs and disabled ones are none", () => {
  document.body.innerHTML = `<main><button>Share</button><button>Share</button>
    <button disabled>Accept</button><button>×</button><button aria-label="Copy link">L</button></main>`;
  expect(pageButtons().map(({ title }) => title)).toEqual(["Share", "Copy link"]);
});
