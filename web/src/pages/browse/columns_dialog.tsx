import { useSession } from "../../api/session";
import { Dialog } from "../../parts/dialog";
import { allowedColumns, columns, usualColumns } from "./columns";
import "./columns_dialog.css";

interface Props {
  shown: string[];
  onChange: (shown: string[]) => void;
  onClose: () => void;
}

/** Which columns the table has. */
export function ColumnsDialog({ shown, onChange, onClose }: Props) {
  const { sees_people } = useSession();
  const toggle = (name: string) => {
    const wanted = shown.includes(name) ? shown.filter((each) => each !== name) : [...shown, name];
    onChange(columns.map((column) => column.name).filter((each) => wanted.includes(each)));
  };
  return (
    <Dialog title="Columns" onClose={onClose}>
      <ul className="columns-dialog">
        {allowedColumns(sees_people).map(({ name, title }) => (
          <li key={name}>
            <label>
              <input type="checkbox" checked={shown.includes(name)} onChange={() => toggle(name)} />{" "}
              {title}
            </label>
          </li>
        ))}
      </ul>
      <button type="button" onClick={() => onChange(usualColumns)}>
        Reset to default
      </button>
    </Dialog>
  );
}
