// Calibrations of stations, and the end of a halt.
import { getJson, sendJson } from "./client";
import type { CalibrationFacts, LiftAnswer } from "./schema";

export function getCalibrations(signal?: AbortSignal): Promise<CalibrationFacts[]> {
  return getJson("/calibrations", {}, signal);
}

export function liftHalt(key: string, reason: string): Promise<LiftAnswer> {
  return sendJson("POST", `/halts/${encodeURIComponent(key)}/lift`, { reason });
}
