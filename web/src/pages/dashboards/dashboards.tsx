import { useEffect } from "react";
import { getCharts, type Scope } from "../../api/dashboards";
import type { ChartFacts } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { Link } from "../../parts/link";
import { Notice, Waiting } from "../../parts/notice";
import { go, keepInAddress } from "../../parts/router";
import { useShortcuts } from "../../parts/shortcuts";
import { ChartCard } from "./chart_card";
import "./charts.css";
import "./dashboards.css";
import { ScopeBar } from "./scope_bar";
import { Totals, totalsChart } from "./totals";

/** Each page is one screen. */
const pages = [
  { section: "Today", path: "/dashboards" },
  { section: "Quality", path: "/dashboards/quality" },
  { section: "Coverage and cost", path: "/dashboards/coverage" },
] as const;

/** Questions about many episodes, each with its answer and the episodes behind it. */
export default function Dashboards({ address }: { address: URL }) {
  const charts = useAnswer(getCharts, []);
  const scope = scopeOf(address);
  const all = charts.value;
  const linked = all?.find(({ id }) => `#${id}` === address.hash);
  const here = pages.find(({ path }) => path === address.pathname) ?? pages[0];
  const home = pages.find(({ section }) => section === linked?.section);
  const large = address.searchParams.get("chart");
  useEffect(() => {
    // A link to a chart leads to the page that it is on.
    if (home && home !== here)
      go(`${home.path}${address.search}${address.hash}`, { replace: true });
  }, [home, here, address]);
  useShortcuts(
    "Dashboards",
    [{ keys: ["Escape"], does: "Show all charts", run: () => keepInAddress({ chart: null }) }],
    large !== null,
  );
  if (charts.error) return <Notice error={charts.error} again={charts.again} />;
  if (!all) return <Waiting />;
  const own = all.filter(({ id, section }) => section === here.section && id !== totalsChart);
  const one = own.find(({ id }) => id === large);
  return (
    <div className="dashboards">
      <h1 className="dashboards-title">Dashboards: {here.section}</h1>
      <div className="dashboards-head">
        <nav className="dashboards-pages" aria-label="Pages of the dashboards">
          {pages.map(({ section, path }) => (
            <Link
              key={path}
              href={`${path}${scopeSearch(address)}`}
              aria-current={section === here.section ? "page" : undefined}
            >
              {section}
            </Link>
          ))}
        </nav>
        <ScopeBar
          scope={scope}
          onChange={({ query, days }) =>
            keepInAddress({ query, days: days === null ? null : String(days) })
          }
        />
      </div>
      <Totals scope={scope} />
      <div className={`dashboards-grid${one ? " dashboards-one" : ""}`} data-charts={own.length}>
        {(one ? [one] : own).map((each) => (
          <ChartCard
            key={each.id}
            chart={each}
            scope={scope}
            settings={settingsOf(address, each)}
            isLinked={each === linked}
            isLarge={each === one}
            onLarge={() => keepInAddress({ chart: one ? null : each.id })}
            onChoose={(name, value) => keepInAddress({ [`${each.id}.${name}`]: value })}
          />
        ))}
      </div>
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

/** What stays in the address from page to page. */
function scopeSearch(address: URL): string {
  const kept = new URLSearchParams();
  for (const name of ["query", "days"]) {
    const value = address.searchParams.get(name);
    if (value) kept.set(name, value);
  }
  const said = kept.toString();
  return said && `?${said}`;
}

/** What the address says of one chart, such as coverage_objects.rows=operator. */
function settingsOf(address: URL, chart: ChartFacts): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of address.searchParams) {
    if (name.startsWith(`${chart.id}.`)) found[name.slice(chart.id.length + 1)] = value;
  }
  return found;
}
