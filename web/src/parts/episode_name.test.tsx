// @vitest-environment happy-dom
import "../testing/dom";
import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { serve } from "../testing/fake_server";
import { EpisodeName } from "./episode_name";

test("numbers of all episodes on a page are asked for at once; one without keeps its id", async () => {
  const log = serve({
    "/names": ({ params }) =>
      params
        .getAll("id")
        .filter((id) => id !== "01a1e2a2-7f45-gone")
        .map((id, place) => ({ id, number: place + 4 })),
  });
  render(
    <p>
      <EpisodeName id="a" /> <EpisodeName id="b" /> <EpisodeName id="a" />{" "}
      <EpisodeName id="01a1e2a2-7f45-gone" />
    </p>,
  );
  expect(await screen.findAllByText("#4")).toHaveLength(2);
  screen.getByText("#5");
  screen.getByText("01a1e2a2-7f45");
  expect(log).toHaveLength(1);
});
