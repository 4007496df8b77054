import { words } from "./label_keys";
import type { Bench } from "./use_bench";

/** What taxonomies without flags of their own have. */
const plainFlags = [
  { name: "unclear_rule", definition: "A rule is unclear here" },
  { name: "look_again", definition: "Look at it again" },
  { name: "not_usable", definition: "Not usable for training" },
];

/** How it ended, and why it failed; variant and flags of the whole episode. */
export function Outcome({ bench }: { bench: Bench }) {
  const { content, taxonomy, episode, canEdit } = bench;
  const need =
    taxonomy.requirements.find((each) => each.task === episode.row.task) ??
    taxonomy.requirements.find((each) => each.task === "*");
  const variants = need?.variants ?? [];
  const setOutcome = (outcome: NonNullable<Bench["content"]["outcome"]>) => {
    const next = content.outcome === outcome ? null : outcome;
    bench.do("outcome", [
      {
        set:
          next === "failure" || next === "borderline"
            ? { outcome: next }
            : { outcome: next, failure_mode: null },
      },
    ]);
  };
  const flip = (name: string) =>
    bench.do("flag", [
      {
        set: {
          flags: content.flags.includes(name)
            ? content.flags.filter((each) => each !== name)
            : [...content.flags, name],
        },
      },
    ]);
  return (
    <section className="side-part" aria-label="Outcome">
      <h3>Outcome</h3>
      <div className="outcome-buttons">
        {(["success", "borderline", "failure"] as const).map((each) => (
          <button
            key={each}
            type="button"
            className={`outcome-${each}`}
            aria-pressed={content.outcome === each}
            disabled={!canEdit}
            onClick={() => setOutcome(each)}
          >
            {words(each)}
          </button>
        ))}
      </div>
      {(content.outcome === "failure" || content.outcome === "borderline") && (
        <div
          className="attribute"
          role="group"
          aria-label="failure mode"
          data-unsaid={content.failure_mode === null}
        >
          <span className="attribute-name">why</span>
          <span className="attribute-choices">
            {taxonomy.failure_modes.map((mode) => (
              <button
                key={mode.name}
                type="button"
                aria-pressed={content.failure_mode === mode.name}
                disabled={!canEdit}
                title={mode.definition}
                onClick={() => bench.do("outcome", [{ set: { failure_mode: mode.name } }])}
              >
                {words(mode.name)}
              </button>
            ))}
          </span>
        </div>
      )}
      {variants.length > 0 && (
        <label className="outcome-variant">
          Variant
          <select
            value={content.variant ?? ""}
            disabled={!canEdit}
            onChange={(event) =>
              bench.do("variant", [{ set: { variant: event.target.value || null } }])
            }
          >
            <option value="">missing</option>
            {variants.map((each) => (
              <option key={each} value={each}>
                {words(each)}
              </option>
            ))}
          </select>
        </label>
      )}
      <div className="outcome-flags" role="group" aria-label="Flags">
        {(taxonomy.flags?.length ? taxonomy.flags : plainFlags).map(({ name, definition }) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={content.flags.includes(name)}
              disabled={!canEdit}
              onChange={() => flip(name)}
            />{" "}
            {definition}
          </label>
        ))}
      </div>
    </section>
  );
}
