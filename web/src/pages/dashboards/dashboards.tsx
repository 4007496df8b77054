import { getCharts, type Scope } from "../../api/dashboards";
import type { ChartFacts } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { Notice, Waiting } from "../../parts/notice";
import { keepInAddress } from "../../parts/router";
import { ChartCard } from "./chart_card";
import "./charts.css";
import "./dashboards.css";
import { ScopeBar } from "./scope_bar";

/** Questions about many episodes, each with its answer and the episodes behind it. */
export default function Dashboards({ address }: { address: URL }) {
  const charts = useAnswer(getCharts, []);
  const scope = scopeOf(address);
  if (charts.error) return <Notice error={charts.error} again={charts.again} />;
  if (!charts.value) return <Waiting />;
  const sections = [...new Set(charts.value.map((each) => each.section))];
  return (
    <div className="dashboards">
      <h1 className="dashboards-title">Dashboards</h1>
      <ScopeBar
        scope={scope}
        onChange={({ query, days }) =>
          keepInAddress({ query, days: days === null ? null : String(days) })
        }
      />
      <nav className="dashboards-sections" aria-label="Sections of the dashboards">
        {sections.map((each) => (
          <a key={each} href={`#${anchor(each)}`}>
            {each}
          </a>
        ))}
      </nav>
      {sections.map((section) => (
        <section key={section} id={anchor(section)} aria-labelledby={`${anchor(section)}-title`}>
          <h2 id={`${anchor(section)}-title`}>{section}</h2>
          <div className="dashboards-grid">
            {(charts.value ?? [])
              .filter((each) => each.section === section)
              .map((each) => (
                <ChartCard
                  key={each.id}
                  chart={each}
                  scope={scope}
                  settings={settingsOf(address, each)}
                  isLinked={address.hash === `#${each.id}`}
                  onChoose={(name, value) => keepInAddress({ [`${each.id}.${name}`]: value })}
                />
              ))}
          </div>
        </section>
      ))}
    </div>
  );
}

function scopeOf(address: URL): Scope {
  const days = Number(address.searchParams.get("days") ?? Number.NaN);
  return {
    query: address.searchParams.get("query") ?? "",
    days: Number.isInteger(days) && days > 0 ? days : null,
  };
}

/** What the address says of one chart, such as coverage_objects.rows=operator. */
function settingsOf(address: URL, chart: ChartFacts): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of address.searchParams) {
    if (name.startsWith(`${chart.id}.`)) found[name.slice(chart.id.length + 1)] = value;
  }
  return found;
}

function anchor(section: string): string {
  return `section-${section.toLowerCase().replaceAll(/\W+/g, "-")}`;
}
