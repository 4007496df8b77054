import { expect, test } from "vitest";
import { certificateText, hoursText, markOf } from "./operator_words";

const certificate = {
  task: "pick_place",
  valid_from: "2026-03-02T08:00:00Z",
  ends: "2026-08-29T08:00:00Z",
  holds: true,
  revoked_why: null,
};

test("a certificate says until when it holds, or how it ended", () => {
  expect(certificateText(certificate)).toBe("pick place until 2026-08-29");
  expect(certificateText({ ...certificate, holds: false })).toBe("pick place, ended 2026-08-29");
  const revoked = { ...certificate, holds: false, revoked_why: "habits" };
  expect(certificateText(revoked)).toBe("pick place, revoked 2026-08-29");
});

test("hours that are not shown are a dash, and no nought", () => {
  expect(hoursText(null)).toBe("–");
  expect(hoursText(0)).toBe("0.0 h");
  expect(hoursText(40.4)).toBe("40 h");
});

test("what cannot be judged is neither kept nor missed", () => {
  expect([true, false, null].map(markOf)).toEqual(["yes", "no", "open"]);
});
