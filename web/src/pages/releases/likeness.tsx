import type { PropertyLikeness } from "../../api/schema";

const chips: Record<string, string> = { alike: "accepted", different: "failed" };

const titles: Record<string, string> = { duration_s: "duration", recorded_ns: "time of recording" };

/** Whether the splits are alike, property by property, in words. */
export function Likeness({ words, properties }: { words: string; properties: PropertyLikeness[] }) {
  return (
    <>
      <p>{words}</p>
      <ul className="release-likeness">
        {properties.map((each) => (
          <li key={each.property} title={each.words}>
            <span>{titles[each.property] ?? each.property.replaceAll("_", " ")}</span>
            <span className={`chip ${chips[each.judgement] ?? "unknown"}`}>{each.judgement}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
