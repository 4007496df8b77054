// @vitest-environment happy-dom
import "../../testing/dom";
import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { expect, test } from "vitest";
import { SessionContext } from "../../api/session";
import { serve } from "../../testing/fake_server";
import type { CalibrationHealth, Recorder } from "../live/health";
import { noFloor } from "./floor_state";
import { Station } from "./station";

const due: CalibrationHealth = {
  reference: "cell@1.0.1",
  state: "due",
  sentence: "a check of the calibration is due",
  checked_at: null,
  due_at: null,
  ask: "bring the robot back to where it was for the reference, and ask for the check",
};

function stationOf(calibration: CalibrationHealth | null) {
  const recorder: Recorder = {
    address: "127.0.0.1:8700",
    status: "connected",
    sentence: "",
    history: {},
    pictures: {},
    health: {
      time_ns: 0,
      state: "waiting",
      episode: "",
      episodes: 0,
      elapsed_s: 0,
      streams: [],
      waiting_bytes: 0,
      written_bytes: 0,
      slowest_sync_s: 0,
      disk_free_bytes: 1e12,
      alarms: [],
      floor: { ...noFloor, starts_by: "key" },
      calibration,
    },
  };
  const session = {
    workspace: "lab",
    version: "1",
    name: "ada",
    role: "operator" as const,
    guest: false,
    read_only: false,
    may: ["read", "ingest"],
    accounts: false,
    sees_people: true,
    episodes: null,
  };
  return (
    <SessionContext.Provider value={session}>
      <Station recorder={recorder} choice={null} />
    </SessionContext.Provider>
  );
}

test("the page asks for a check of the calibration, by a button and by C", async () => {
  const log = serve({ "/live/marks": () => ({ ok: true, reason: "" }) });
  render(stationOf(due));
  const marks = () => log.filter((asked) => asked.path === "/live/marks");
  fireEvent.click(screen.getByRole("button", { name: /Check the calibration/ }));
  await waitFor(() => expect(marks()).toHaveLength(1));
  expect(marks()[0]?.body).toEqual({ mark: "check", recorder: "127.0.0.1:8700" });
  await waitFor(() =>
    expect(
      screen.getByRole<HTMLButtonElement>("button", { name: /Check the calibration/ }).disabled,
    ).toBe(false),
  );
  fireEvent.keyDown(window, { key: "c" });
  await waitFor(() => expect(marks()).toHaveLength(2));
});

test("a station without markers has nothing to check", () => {
  const log = serve({ "/live/marks": () => ({ ok: true, reason: "" }) });
  render(stationOf(null));
  expect(screen.queryByRole("button", { name: /Check the calibration/ })).toBeNull();
  fireEvent.keyDown(window, { key: "c" });
  expect(log).toHaveLength(0);
});
