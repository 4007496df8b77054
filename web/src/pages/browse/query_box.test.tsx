// @vitest-environment happy-dom
import "../../testing/dom";
import { act, fireEvent, render, screen } from "@testing-library/react";
import { createRef } from "react";
import { beforeEach, expect, test, vi } from "vitest";
import { type Answers, Refusal, serve } from "../../testing/fake_server";
import { QueryBox } from "./query_box";

const onQuery = vi.fn();
const nothing = { start: 0, end: 0, items: [] };

function show(answers: Answers, query = ""): HTMLInputElement {
  vi.useFakeTimers();
  serve({
    "/listing/suggestions": () => nothing,
    "/listing/count": () => ({ count: 1, more: false }),
    ...answers,
  });
  const input = createRef<HTMLInputElement>();
  render(
    <QueryBox
      query={query}
      error={null}
      input={input}
      onQuery={onQuery}
      onHelp={() => undefined}
    />,
  );
  return screen.getByRole<HTMLInputElement>("combobox");
}

async function type(box: HTMLInputElement, text: string, forMs: number): Promise<void> {
  box.focus();
  fireEvent.change(box, { target: { value: text } });
  await act(() => vi.advanceTimersByTimeAsync(forMs));
}

beforeEach(() => onQuery.mockClear());

test("a query is applied when the typing rests, not with every letter", async () => {
  const box = show({});
  await type(box, "task = pick", 300);
  await type(box, "task = pick_place", 300);
  expect(onQuery).not.toHaveBeenCalled();
  await act(() => vi.advanceTimersByTimeAsync(200));
  expect(onQuery.mock.calls).toEqual([["task = pick_place", false]]);
});

test("Enter applies at once", async () => {
  const box = show({});
  await type(box, "failure = fall", 10);
  fireEvent.keyDown(box, { key: "Enter" });
  await act(() => vi.advanceTimersByTimeAsync(0));
  expect(onQuery.mock.calls).toEqual([["failure = fall", true]]);
});

test("a query that cannot be read is refused with the place marked, and not applied", async () => {
  const sentence = "Expected a value at character 8.";
  const box = show({ "/listing/count": () => new Refusal(400, sentence) });
  await type(box, "task = )", 600);
  const alert = screen.getByRole("alert");
  expect(alert.textContent).toContain(sentence);
  expect(alert.querySelector("mark")?.textContent).toBe(")");
  expect(box.getAttribute("aria-invalid")).toBe("true");
  expect(onQuery).not.toHaveBeenCalled();
});

test("an offer is picked by the arrows and put in place of what it completes", async () => {
  const items = [
    { text: "state", kind: "field", detail: "text" },
    { text: "station", kind: "field", detail: "text" },
  ];
  const box = show({
    "/listing/suggestions": ({ params }) =>
      params.get("query") === "sta" ? { start: 0, end: 3, items } : nothing,
  });
  await type(box, "sta", 100);
  expect(screen.getAllByRole("option")).toHaveLength(2);
  fireEvent.keyDown(box, { key: "ArrowDown" });
  fireEvent.keyDown(box, { key: "ArrowDown" });
  expect(screen.getByRole("option", { selected: true }).textContent).toContain("station");
  fireEvent.keyDown(box, { key: "Tab" });
  expect(box.value).toBe("station ");
});

test("clearing shows all episodes again", async () => {
  show({}, "state = failed");
  fireEvent.click(screen.getByRole("button", { name: "Clear the query" }));
  expect(onQuery.mock.calls).toEqual([["", true]]);
});
