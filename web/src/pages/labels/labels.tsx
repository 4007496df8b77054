import { useMay } from "../../api/session";
import { Notice } from "../../parts/notice";
import { Adjudicate } from "./adjudicate";
import { Comments } from "./comments";
import "./labels.css";
import { LabelsTabs } from "./labels_tabs";
import { MyWorkPage } from "./my_work";
import { PairList } from "./pair_list";
import { People } from "./people";
import { Queues } from "./queues";
import { Submitted } from "./submitted";
import { SubmittedTask } from "./submitted_task";

/** Everything around the workbench: whose turn it is, what was agreed on, what is not. */
export default function Labels({ address }: { address: URL }) {
  const [, , section = "", id = ""] = address.pathname.split("/").map(decodeURIComponent);
  const mayAnnotate = useMay("annotate");
  const mayJudge = useMay("judge");
  if (!mayAnnotate) {
    return (
      <Notice
        error={
          new Error(
            "Labels are for annotators and leads. Ask an admin for the role, or look at labels on an episode's page.",
          )
        }
      />
    );
  }
  if (mayJudge && section === "adjudication" && id) return <Adjudicate key={id} pair={id} />;
  if (mayJudge && section === "submitted" && id) return <SubmittedTask key={id} id={id} />;
  return (
    <div className="labels">
      <LabelsTabs section={section} isLead={mayJudge} />
      {mayJudge ? <ForLeads section={section} /> : <MyWorkPage />}
    </div>
  );
}

function ForLeads({ section }: { section: string }) {
  switch (section) {
    case "queues":
      return <Queues />;
    case "submitted":
      return <Submitted />;
    case "adjudication":
      return <PairList />;
    case "people":
      return <People />;
    case "comments":
      return <Comments />;
    default:
      return <MyWorkPage />;
  }
}
