import { Dialog } from "./dialog";
import { listShortcuts } from "./shortcuts";

const names: Record<string, string> = {
  " ": "Space",
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
};

function shown(keys: string): string[] {
  if (keys === "+") return ["+"];
  return keys.split("+").map((key) => names[key] ?? (key.length === 1 ? key.toUpperCase() : key));
}

/** Every key that works where you are. */
export function HelpDialog({ onClose }: { onClose: () => void }) {
  const sections = new Map<string, { keys: string[]; does: string }[]>();
  for (const { section, keys, does } of listShortcuts()) {
    sections.set(section, [...(sections.get(section) ?? []), { keys, does }]);
  }
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <div className="key-list">
        {[...sections].reverse().map(([section, list]) => (
          <section key={section}>
            <h3>{section}</h3>
            <dl>
              {list.map(({ keys, does }) => (
                <div key={does}>
                  <dt>
                    {keys.map((each, place) => (
                      <span key={each}>
                        {place > 0 && " or "}
                        {shown(each).map((key) => (
                          <kbd key={key}>{key}</kbd>
                        ))}
                      </span>
                    ))}
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
