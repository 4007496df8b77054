// What an operator does to a take: Studio hands it to the recorder.
import { sendJson } from "./client";
import type { NewTakeMark, TakeMarkAnswer } from "./schema";

export type TakeMark = Omit<NewTakeMark, "recorder">;

export function sendTakeMark(recorder: string, mark: TakeMark): Promise<TakeMarkAnswer> {
  return sendJson("POST", "/live/marks", { ...mark, recorder });
}
