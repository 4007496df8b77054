import { type ReactNode, useEffect } from "react";
import { getCampaign, getCampaigns } from "../../api/campaigns";
import { browseAddress } from "../../api/dashboards";
import type { CampaignFactor, CampaignFacts, CampaignLine } from "../../api/schema";
import { useAnswer } from "../../api/use_answer";
import { Link } from "../../parts/link";
import { Notice, Waiting } from "../../parts/notice";
import { count } from "../../parts/words";
import { shareOf, standingOf, successText, unknownText } from "./campaign_words";
import "./campaigns.css";

const everyMs = 3000;
const mostPairs = 24;

/** All campaigns, or one of them: its table fills while stations collect. */
export default function Campaigns({ address }: { address: URL }) {
  const name = decodeURIComponent(address.pathname.split("/")[2] ?? "");
  return name ? <CampaignPage key={name} name={name} /> : <CampaignList />;
}

/** Ask again and again as long as somebody looks. */
function useFresh(again: () => void) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: `again` does the same every time
  useEffect(() => {
    const timer = window.setInterval(() => {
      if (document.visibilityState === "visible") again();
    }, everyMs);
    return () => window.clearInterval(timer);
  }, []);
}

function CampaignList() {
  const answer = useAnswer(getCampaigns, []);
  useFresh(answer.again);
  if (answer.error && !answer.value) return <Notice error={answer.error} again={answer.again} />;
  if (!answer.value) return <Waiting what="Loading the campaigns" />;
  return (
    <div className="campaigns">
      <header>
        <h1>Campaigns</h1>
        <p className="muted">
          Plans of episodes, and how far each is; accepted episodes count.{" "}
          <Link href="/board">All stations on the board</Link>
        </p>
      </header>
      {answer.value.length === 0 && (
        <section className="card campaign-none">
          <h2>No campaign yet</h2>
          <p>Plan one from a protocol with factors, then record for it:</p>
          <pre>
            {
              "corporeal design protocol.yaml\ncorporeal campaign create autumn --protocol protocol.yaml -w LAB\ncorporeal record --campaign autumn -w LAB --station s1 --operator YOU"
            }
          </pre>
        </section>
      )}
      {answer.value.map((line) => (
        <section
          key={line.name}
          className="card campaign-line"
          aria-label={`Campaign ${line.name}`}
        >
          <h2>
            <Link href={`/campaigns/${encodeURIComponent(line.name)}`}>{line.name}</Link>{" "}
            {line.closed_at && <span className="chip">closed</span>}
          </h2>
          <Progress line={line} />
        </section>
      ))}
    </div>
  );
}

function Progress({ line }: { line: CampaignLine }) {
  const share = Math.min(100, (100 * line.accepted) / Math.max(1, line.episodes));
  return (
    <>
      <div
        className="campaign-bar"
        role="progressbar"
        aria-label="Accepted"
        aria-valuenow={line.accepted}
        aria-valuemax={line.episodes}
      >
        <span style={{ width: `${share}%` }} />
      </div>
      <p>
        <b className="num">
          {line.accepted} of {line.episodes}
        </b>{" "}
        accepted
        {line.rejected > 0 && `, ${line.rejected} rejected`}
        {line.unchecked > 0 && `, ${line.unchecked} unchecked`}
        {line.practice > 0 && `, ${line.practice} practice (no certificate)`}.{" "}
        <Link href={browseAddress(line.query) ?? "/episodes"}>See them</Link>
      </p>
      {line.forecast && <p className="muted">{line.forecast}</p>}
    </>
  );
}

function CampaignPage({ name }: { name: string }) {
  const answer = useAnswer((signal) => getCampaign(name, signal), [name]);
  useFresh(answer.again);
  if (answer.error && !answer.value) return <Notice error={answer.error} again={answer.again} />;
  if (!answer.value) return <Waiting what="Loading the campaign" />;
  const facts = answer.value;
  return (
    <div className="campaigns">
      <header>
        <h1>{name}</h1>
        <p className="muted">
          {facts.line.protocol} · <Link href="/campaigns">All campaigns</Link>
        </p>
        <Progress line={facts.line} />
      </header>
      <div className="campaign-columns">
        <section className="card campaign-table" aria-label="Coverage">
          <h2>Coverage</h2>
          <CoverageTable facts={facts} />
        </section>
        <div className="campaign-side">
          <Unknown facts={facts} />
          <Operators facts={facts} />
          <Cards facts={facts} />
        </div>
      </div>
    </div>
  );
}

function CoverageTable({ facts }: { facts: CampaignFacts }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Level</th>
          <th scope="col">Accepted of planned</th>
          <th scope="col" className="right">
            Rejected
          </th>
          <th scope="col">Success (95 %)</th>
        </tr>
      </thead>
      {facts.factors.map((factor) => (
        <FactorRows key={factor.name} factor={factor} share={shareOf(facts)} />
      ))}
    </table>
  );
}

function FactorRows({ factor, share }: { factor: CampaignFactor; share: number }) {
  return (
    <tbody>
      <tr className="campaign-factor">
        <th scope="rowgroup" colSpan={4}>
          {factor.name.replaceAll("_", " ")}
        </th>
      </tr>
      {factor.levels.map((level) => {
        const width = Math.min(100, (100 * level.accepted) / Math.max(0.5, level.planned));
        return (
          <tr key={level.level} className={`level-${standingOf(level, share)}`}>
            <th scope="row">{level.level.replaceAll("_", " ")}</th>
            <td>
              <div className="level-bar">
                <span style={{ width: `${width}%` }} />
                <b className="num">
                  {level.accepted} of {Math.round(level.planned)}
                </b>
              </div>
            </td>
            <td className="num right">{level.rejected || ""}</td>
            <td className="num">{successText(level)}</td>
          </tr>
        );
      })}
    </tbody>
  );
}

function Side({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="card" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function Unknown({ facts }: { facts: CampaignFacts }) {
  const shown = facts.missing.slice(0, mostPairs);
  return (
    <Side title="Still unknown">
      <p>{unknownText(facts)}</p>
      {shown.length > 0 && (
        <ul className="campaign-pairs">
          {shown.map((pair) => (
            <li key={`${pair.first}${pair.first_level}${pair.second}${pair.second_level}`}>
              {pair.first_level.replaceAll("_", " ")} × {pair.second_level.replaceAll("_", " ")}
            </li>
          ))}
          {facts.pairs_missing > shown.length && (
            <li className="muted">and {facts.pairs_missing - shown.length} more</li>
          )}
        </ul>
      )}
      {facts.confounded.map(({ first, second, cramers_v }) => (
        <p key={`${first}${second}`} className="campaign-confounded">
          <b>
            {first} and {second} are confounded
          </b>{" "}
          (Cramer's V {cramers_v.toFixed(2)}): what one does cannot be told from the other.
        </p>
      ))}
      {facts.few_operators.length > 0 && facts.line.accepted > 0 && (
        <p className="muted">Shown by too few people so far: {facts.few_operators.join(", ")}.</p>
      )}
    </Side>
  );
}

function Operators({ facts }: { facts: CampaignFacts }) {
  const rows = Object.entries(facts.operators);
  if (!rows.length && !facts.hidden) return null;
  const most = Math.floor(facts.greatest_share * facts.line.episodes + 1e-9);
  return (
    <Side title="Operators">
      <p className="muted">Nobody makes more than {most} of this campaign.</p>
      {facts.hidden && <p className="muted">Figures of single operators are {facts.hidden}</p>}
      <ul className="campaign-people">
        {rows.map(([name, episodes]) => (
          <li key={name}>
            <span>{name}</span>
            <div className="level-bar">
              <span style={{ width: `${Math.min(100, (100 * episodes) / Math.max(1, most))}%` }} />
              <b className="num">{episodes}</b>
            </div>
          </li>
        ))}
      </ul>
    </Side>
  );
}

function Cards({ facts }: { facts: CampaignFacts }) {
  if (!facts.cards.length) return null;
  return (
    <Side title="On the stations">
      <p className="muted">
        {count(facts.cards.length, "station")} {facts.cards.length === 1 ? "has" : "have"} a card.
      </p>
      <ul className="campaign-cards">
        {facts.cards.map(({ station, levels }) => (
          <li key={`${station}${Object.values(levels).join()}`}>
            <b>{station ?? "a station without a name"}</b>{" "}
            {Object.values(levels)
              .map((level) => level.replaceAll("_", " "))
              .join(", ")}
          </li>
        ))}
      </ul>
    </Side>
  );
}
