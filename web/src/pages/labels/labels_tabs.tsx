import { Link } from "../../parts/link";

const tabs = [
  { section: "", title: "My work" },
  { section: "queues", title: "Queues" },
  { section: "submitted", title: "Submitted" },
  { section: "adjudication", title: "Adjudication" },
  { section: "people", title: "People" },
  { section: "comments", title: "Comments" },
];

/** The parts of the page; annotators have one, and so no tabs. */
export function LabelsTabs({ section, isLead }: { section: string; isLead: boolean }) {
  if (!isLead) return null;
  return (
    <nav className="labels-tabs" aria-label="Parts of Labels">
      {tabs.map((tab) => (
        <Link
          key={tab.section}
          href={`/labels${tab.section && `/${tab.section}`}`}
          aria-current={tab.section === section ? "page" : undefined}
        >
          {tab.title}
        </Link>
      ))}
      <Link href="/dashboards#agreement_over_time" className="labels-tabs-away">
        Agreement charts ↗
      </Link>
    </nav>
  );
}
