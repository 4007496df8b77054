import { describe, expect, test } from "vitest";
import type { Step } from "../../api/annotation";
import type { Annotation } from "../../api/schema";
import { apply, EditError, inverse } from "./edit";
import given from "./edit_cases.json";

interface Case {
  name: string;
  before?: Partial<Annotation>;
  steps: Step[];
  after?: Partial<Annotation>;
  refused?: boolean;
}

const blank = given.blank as unknown as Annotation;

describe("edits that the server's reducer is held to as well", () => {
  for (const each of given.cases as unknown as Case[]) {
    const before = { ...blank, ...each.before };
    test(each.name, () => {
      if (each.refused) {
        expect(() => apply(before, each)).toThrow(EditError);
        return;
      }
      const after = apply(before, each);
      expect(after).toEqual({ ...before, ...each.after });
      expect(apply(after, { steps: inverse(before, each) })).toEqual(before);
    });
  }
});
