import type { ViewLook } from "../../api/schema";
import { useSession } from "../../api/session";
import "./list_bar.css";
import type { RowList } from "./row_list";
import { countText } from "./wording";

const orders: [string, string][] = [
  ["-recorded", "newest first"],
  ["recorded", "oldest first"],
  ["score", "lowest score first"],
  ["-score", "highest score first"],
  ["-duration_s", "longest first"],
  ["duration_s", "shortest first"],
  ["task", "by task"],
  ["operator", "by operator"],
  ["verdict", "by verdict"],
];

interface Props {
  list: RowList;
  look: ViewLook;
  isFiltersOpen: boolean;
  onLook: (look: Partial<ViewLook>) => void;
  onOpen: (what: "filters" | "views" | "columns") => void;
  onRefresh: () => void;
}

/** How many there are, in which order, and how they are shown. */
export function ListBar({ list, look, isFiltersOpen, onLook, onOpen, onRefresh }: Props) {
  const { sees_people } = useSession();
  const isOther = !orders.some(([name]) => name === look.order);
  return (
    <div className="list-bar">
      <button
        type="button"
        className="list-bar-filters"
        aria-expanded={isFiltersOpen}
        onClick={() => onOpen("filters")}
      >
        Filters
      </button>
      <span className="list-bar-count num" role="status">
        {list.total === null
          ? list.error
            ? ""
            : "counting…"
          : `${countText(list.total)} ${list.total === 1 ? "episode" : "episodes"}`}
      </span>
      <button
        type="button"
        className="quiet"
        onClick={onRefresh}
        aria-label="Refresh"
        title="Refresh (r)"
      >
        ↻
      </button>
      <span className="list-bar-rest">
        <button type="button" onClick={() => onOpen("views")}>
          Views
        </button>
        <select
          aria-label="Order"
          value={look.order}
          onChange={(event) => onLook({ order: event.target.value })}
        >
          {isOther && <option value={look.order}>by {look.order.replace("-", "")}</option>}
          {orders
            .filter(([name]) => name !== "operator" || sees_people)
            .map(([name, text]) => (
              <option key={name} value={name}>
                {text}
              </option>
            ))}
        </select>
        {look.layout === "table" && (
          <button type="button" className="list-bar-columns" onClick={() => onOpen("columns")}>
            Columns
          </button>
        )}
        <span className="list-bar-switch" role="group" aria-label="Layout">
          <button
            type="button"
            aria-pressed={look.layout === "table"}
            onClick={() => onLook({ layout: "table" })}
          >
            Table
          </button>
          <button
            type="button"
            aria-pressed={look.layout === "grid"}
            onClick={() => onLook({ layout: "grid" })}
          >
            Pictures
          </button>
        </span>
      </span>
    </div>
  );
}
