// The key that sets each label of a lane: the taxonomy's, else a letter of its name.
import type { Value } from "../../api/annotation";
import type { AttributeChoice, LabelDefinition, LabelLane, Taxonomy } from "../../api/schema";

export function labelKeys(lane: LabelLane): Map<string, string> {
  const keys = new Map<string, string>();
  const taken = new Set<string>();
  for (const { name, key } of lane.labels) {
    if (!key || key.toLowerCase() === objectKey) continue;
    keys.set(key.toLowerCase(), name);
    taken.add(name);
  }
  for (const { name } of lane.labels) {
    if (taken.has(name)) continue;
    const letter = [...name.replace(/[^a-z]/g, ""), ..."abcdefghijklmnopqrstuvwxyz"].find(
      (each) => !keys.has(each) && !reserved.has(each),
    );
    if (letter) keys.set(letter, name);
  }
  return keys;
}

/** Leads into the field for the object, whatever a taxonomy asks for. */
const objectKey = "o";

/** Letters that do something else wherever no taxonomy asks for them. */
const reserved = new Set(["u", "n", "p", "x", "m", "e", "i", "c", "z", "a", objectKey]);

export function keyOf(lane: LabelLane, label: string): string | null {
  for (const [key, name] of labelKeys(lane)) if (name === label) return key;
  return null;
}

export function labelOf(taxonomy: Taxonomy, lane: string, name: string): LabelDefinition | null {
  return (
    taxonomy.lanes.find((each) => each.name === lane)?.labels.find((each) => each.name === name) ??
    null
  );
}

/** What an attribute may be; an empty list means that it is written freely. */
export function choicesOf(
  taxonomy: Taxonomy,
  attribute: string,
): Pick<AttributeChoice, "name" | "definition">[] {
  if (attribute === "grasp_type") return taxonomy.grasp_types;
  if (attribute === "discrepancy") return taxonomy.discrepancies;
  if (attribute === "object")
    return taxonomy.objects.map(({ name, description }) => ({ name, definition: description }));
  if (attribute === "hand")
    return ["left", "right", "both"].map((name) => ({
      name,
      definition: `The ${name} hand${name === "both" ? "s" : ""}.`,
    }));
  return taxonomy.attributes?.find((each) => each.name === attribute)?.choices ?? [];
}

/** The unit of an attribute that is a number; null for any other. */
export function unitOf(taxonomy: Taxonomy, attribute: string): string | null {
  return taxonomy.attributes?.find((each) => each.name === attribute)?.unit ?? null;
}

export function isUnsaid(value: Value | undefined): boolean {
  return value === undefined || value === null || value === "";
}

/** A name as people read it. */
export function words(name: string): string {
  return name.replaceAll("_", " ");
}

/** The colour of a label: the same in every lane row, button and list. */
export function inkOf(lane: LabelLane, label: string): string {
  const place = lane.labels.findIndex((each) => each.name === label);
  return `var(--line-${((place < 0 ? 9 : place) % 10) + 1})`;
}
