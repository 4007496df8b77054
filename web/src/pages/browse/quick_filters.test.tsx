// @vitest-environment happy-dom
import "../../testing/dom";
import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import type { FacetCounts, ListingFacets } from "../../api/schema";
import { serve } from "../../testing/fake_server";
import { FacetGroup } from "./facet_group";
import { QuickFilters, toggleFewChecks } from "./quick_filters";

function facet(name: string, ...values: [string | null, number, boolean?][]): FacetCounts {
  return {
    name,
    more: false,
    values: values.map(([value, count, chosen = false]) => ({ value, count, chosen })),
  };
}

const facets: ListingFacets = {
  facets: [
    facet("verdict", ["accepted", 90], ["failed", 7, true]),
    facet("failure", ["fall", 5], [null, 92]),
  ],
  scores: [],
  days: [],
  total: 97,
};

/** The server writes down what the query was refined by. */
function refined() {
  return serve({
    "/listing/refined": ({ params }) => ({
      query: `${params.get("query") ?? ""}<${params.get("facet")} ${params.get("value") ?? "-"}>`,
    }),
  });
}

test("quick filters count what they find, and the chosen one is pressed", () => {
  render(<QuickFilters query="" facets={facets} onQuery={() => undefined} />);
  const names = screen.getAllByRole("button").map((button) => button.textContent);
  expect(names).toEqual([
    "All",
    "Accepted 90",
    "Quarantined 0",
    "Failed 7",
    "Failure: fall 5",
    "Few checks run",
  ]);
  const pressed = screen.getAllByRole("button", { pressed: true });
  expect(pressed.map((button) => button.textContent)).toEqual(["Failed 7"]);
});

test("another verdict takes the place of the chosen one; the chosen one goes", async () => {
  refined();
  const onQuery = vi.fn();
  render(<QuickFilters query="q" facets={facets} onQuery={onQuery} />);
  fireEvent.click(screen.getByRole("button", { name: "Accepted 90" }));
  await waitFor(() => expect(onQuery).toHaveBeenCalledWith("q<verdict -><verdict accepted>"));
  fireEvent.click(screen.getByRole("button", { name: "Failed 7" }));
  await waitFor(() => expect(onQuery).toHaveBeenLastCalledWith("q<verdict ->"));
});

test("a value of a facet shows the click before the server has answered", () => {
  const onRefine = vi.fn();
  render(<FacetGroup facet={facet("task", ["pick", 3], ["walk", 1])} isOpen onRefine={onRefine} />);
  const box = screen.getByRole<HTMLInputElement>("checkbox", { name: /pick/i });
  fireEvent.click(box);
  expect(box.checked).toBe(true);
  expect(onRefine.mock.calls).toEqual([[{ facet: "task", value: "pick" }]]);
});

test("a long facet shows six values and the chosen ones, and all on demand", () => {
  const values = "abcdefgh"
    .split("")
    .map((name): [string, number, boolean] => [name, 1, name === "h"]);
  render(<FacetGroup facet={facet("task", ...values)} isOpen onRefine={() => undefined} />);
  expect(screen.getAllByRole("checkbox")).toHaveLength(7);
  fireEvent.click(screen.getByRole("button", { name: "All 8" }));
  expect(screen.getAllByRole("checkbox")).toHaveLength(8);
});

test("few checks run is a clause that comes and goes", () => {
  expect(toggleFewChecks("")).toBe("assessed < 0.7");
  expect(toggleFewChecks("assessed < 0.7")).toBe("");
  const both = "(task = a or task = b) and assessed < 0.7";
  expect(toggleFewChecks("task = a or task = b")).toBe(both);
  expect(toggleFewChecks(both)).toBe("task = a or task = b");
});
