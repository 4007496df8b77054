// @vitest-environment happy-dom
import "../../testing/dom";
import { fireEvent, render, screen, within } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import type { Segment } from "../../api/schema";
import { sampleBench } from "../../testing/samples";
import { Attributes } from "./attributes";

function segment(attributes: Segment["attributes"]): Segment {
  return {
    id: "s1",
    lane: "contact",
    label: "grasp",
    start_ns: 0,
    end_ns: 10,
    attributes,
    source: "person",
    confirmed: true,
    confidence: null,
  };
}

function show(mine: Segment, others: Segment[] = [], edit = vi.fn()) {
  const bench = sampleBench({ segments: [mine, ...others] }, { segment: mine, do: edit });
  render(
    <Attributes
      bench={bench}
      segment={mine}
      names={["grasp_type", "hand", "surface"]}
      asked={null}
      onAsk={() => undefined}
    />,
  );
  return edit;
}

test("the first question without an answer has the number keys", () => {
  show(segment({ grasp_type: "power" }));
  const hand = screen.getByRole("group", { name: "hand" });
  expect(within(hand).getByRole("button", { name: /left/ }).textContent).toBe("1left");
  const grasp = screen.getByRole("group", { name: "grasp type" });
  expect(within(grasp).getByRole("button", { name: "power" }).getAttribute("aria-pressed")).toBe(
    "true",
  );
  expect(grasp.dataset.unsaid).toBe("false");
  expect(hand.dataset.unsaid).toBe("true");
});

test("a choice is put into the segment, and pressed again it is taken out", () => {
  const edit = show(segment({ grasp_type: "power" }));
  fireEvent.click(screen.getByRole("button", { name: "pinch" }));
  expect(edit.mock.lastCall?.[1][0].put.attributes).toMatchObject({ grasp_type: "pinch" });
  fireEvent.click(screen.getByRole("button", { name: "power" }));
  expect(edit.mock.lastCall?.[1][0].put.attributes.grasp_type ?? null).toBeNull();
});

test("free text offers what was said before, and is kept when the field is left", () => {
  const edit = show(segment({}), [{ ...segment({ surface: "wet_table" }), id: "s0" }]);
  fireEvent.click(screen.getByRole("button", { name: /wet table/ }));
  expect(edit.mock.lastCall?.[1][0].put.attributes).toMatchObject({ surface: "wet_table" });
  const field = screen.getByRole("textbox", { name: "surface" });
  fireEvent.change(field, { target: { value: " shelf " } });
  fireEvent.blur(field);
  expect(edit.mock.lastCall?.[1][0].put.attributes).toMatchObject({ surface: "shelf" });
});
