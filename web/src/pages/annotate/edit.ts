// What an edit makes of an annotation: the same rules as in `corporeal.labelling.annotation`, so that
// the page shows at once what the server will have. Both are held to edit_cases.json.
import type { Item, Step } from "../../api/annotation";
import type { Annotation, Edit } from "../../api/schema";

export class EditError extends Error {}

const most = 5000;
const lists = ["segments", "instructions", "corrections", "poses"] as const;
const fields = ["outcome", "failure_mode", "variant", "flags", "reference"];
const name = /^[a-z][a-z0-9_]*$/;
type List = (typeof lists)[number];

export function apply(annotation: Annotation, edit: Pick<Edit, "steps">): Annotation {
  return edit.steps.reduce(stepped, annotation);
}

/** The steps that lead from what `edit` makes of an annotation back to the annotation. */
export function inverse(annotation: Annotation, edit: Pick<Edit, "steps">): Step[] {
  const back: Step[] = [];
  let now = annotation;
  for (const step of edit.steps) {
    back.push(undone(now, step));
    now = stepped(now, step);
  }
  return back.reverse();
}

function stepped(annotation: Annotation, step: Step): Annotation {
  if ("set" in step) {
    checkFields(step.set);
    return { ...annotation, ...step.set };
  }
  const list = listOf(annotation, step);
  if (list === null) return annotation;
  const held = new Map<string, Item>((annotation[list] ?? []).map((each) => [each.id, each]));
  if ("drop" in step) held.delete(step.drop);
  else {
    if ("lane" in step.put && step.put.end_ns < step.put.start_ns) {
      throw new EditError(
        `segment ${step.put.id}, got an end before its start; expected it after.`,
      );
    }
    held.set(step.put.id, step.put);
  }
  if (held.size > most) throw new EditError(`${list}, got more than ${most}; expected fewer.`);
  const kept = [...held.values()].sort((one, other) =>
    one.id < other.id ? -1 : one.id > other.id ? 1 : 0,
  );
  return { ...annotation, [list]: kept };
}

function checkFields(set: Partial<Annotation>): void {
  for (const [field, value] of Object.entries(set)) {
    if (!fields.includes(field)) throw new EditError(`${field}: it cannot be set.`);
    const isName = value === null || (typeof value === "string" && name.test(value));
    if (
      field === "outcome" &&
      !["success", "borderline", "failure", null].includes(value as string | null)
    ) {
      throw new EditError("outcome, expected success, borderline or failure.");
    }
    if ((field === "failure_mode" || field === "variant") && !isName) {
      throw new EditError(`${field}, expected lower-case letters, digits and _.`);
    }
    if (
      field === "flags" &&
      !(Array.isArray(value) && value.every((each) => name.test(String(each))))
    ) {
      throw new EditError("flags, expected lower-case letters, digits and _.");
    }
  }
}

function undone(annotation: Annotation, step: Step): Step {
  if ("set" in step) {
    const before = Object.keys(step.set).map((field) => [
      field,
      annotation[field as keyof Annotation],
    ]);
    return { set: Object.fromEntries(before) as Partial<Annotation> };
  }
  const id = "drop" in step ? step.drop : step.put.id;
  for (const list of lists) {
    const held = ((annotation[list] ?? []) as Item[]).find((each) => each.id === id);
    if (held) return { put: held };
  }
  return { drop: id };
}

/** The list that a step changes; null when it drops what is not there. */
function listOf(annotation: Annotation, step: { put: Item } | { drop: string }): List | null {
  const id = "drop" in step ? step.drop : step.put.id;
  const there =
    lists.find((list) => ((annotation[list] ?? []) as Item[]).some((each) => each.id === id)) ??
    null;
  if ("drop" in step) return there;
  const wanted = kindOf(step.put);
  if (there && there !== wanted)
    throw new EditError(`id ${id}, got one of another kind; expected a new id.`);
  return wanted;
}

function kindOf(item: Item): List {
  if ("lane" in item) return "segments";
  if ("object" in item) return "poses";
  return "text" in item ? "instructions" : "corrections";
}
