import { expect, test } from "vitest";
import { blocksOf, inlinesOf } from "./markdown";

test("a card is cut into headings, tables, lists, code and text, without its front matter", () => {
  const card = [
    "---",
    "license: other",
    "---",
    "# Walks",
    "",
    "Two lines",
    "of text.",
    "",
    "| task | episodes |",
    "|---|---|",
    "| walk | 3 |",
    "| a \\| b | 1 |",
    "",
    "- one",
    "  goes on",
    "- two",
    "",
    "```python",
    "x = 1",
    "# no heading",
    "```",
  ].join("\n");
  expect(blocksOf(card)).toEqual([
    { kind: "heading", level: 1, text: "Walks" },
    { kind: "text", text: "Two lines of text." },
    {
      kind: "table",
      head: ["task", "episodes"],
      rows: [
        ["walk", "3"],
        ["a | b", "1"],
      ],
    },
    { kind: "list", items: ["one goes on", "two"] },
    { kind: "code", text: "x = 1\n# no heading" },
  ]);
});

test("links lead to the web or nowhere, and nothing in a line is a tag", () => {
  expect(inlinesOf("**3** of `x` [docs](https://a.org) [bad](javascript:x) <b>")).toEqual([
    { kind: "strong", text: "3" },
    { kind: "text", text: " of " },
    { kind: "code", text: "x" },
    { kind: "text", text: " " },
    { kind: "link", text: "docs", href: "https://a.org" },
    { kind: "text", text: " " },
    { kind: "text", text: "bad" },
    { kind: "text", text: " <b>" },
  ]);
});
