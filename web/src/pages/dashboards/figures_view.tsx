import { browseAddress } from "../../api/dashboards";
import type { BigNumbers } from "../../api/schema";

/** Big numbers, each with what it is made of. */
export function FiguresView({ figures }: { figures: BigNumbers }) {
  return (
    <dl className="figures">
      {figures.figures.map((each) => {
        const href = browseAddress(each.query);
        return (
          <div key={each.label}>
            <dt>{each.label}</dt>
            <dd className="figure-value num">
              {href ? <a href={href}>{each.value}</a> : each.value}
            </dd>
            <dd className="muted">{each.detail}</dd>
          </div>
        );
      })}
    </dl>
  );
}
