import { useSession } from "../../api/session";
import { CopyLine } from "../../parts/copy_line";
import { Dialog } from "../../parts/dialog";
import "./add_data_dialog.css";

/** The commands that bring data into this workspace; Studio itself reads no folder of the machine. */
export function AddDataDialog({ folder, onClose }: { folder: string; onClose: () => void }) {
  const { accounts } = useSession();
  return (
    <Dialog title="Add data" onClose={onClose}>
      <div className="add-data">
        <p>Run these in a terminal on the machine that has the data and this workspace.</p>
        <section>
          <h3>1. Datasets, bags and motions become episode files</h3>
          <CopyLine label="Convert a dataset" text="corporeal import DATASET --out recordings" />
          <p className="muted">
            DATASET is your folder or file: LeRobot, ROS bags, HDF5 and more. <code>--out</code> is
            a new folder; nothing is overwritten. Not needed for what Corporeal recorded.
          </p>
        </section>
        <section>
          <h3>2. Episode files come into this workspace</h3>
          {accounts && (
            <p>
              This workspace has accounts: put a token of yours into <code>CORPOREAL_TOKEN</code>{" "}
              first.
            </p>
          )}
          <CopyLine label="Take episodes in" text={`corporeal ingest recordings -w ${folder}`} />
        </section>
        <section>
          <h3>What happens then</h3>
          <p>
            Every episode is copied into the workspace, checked and scored. The same episode twice
            is one, and a command that was interrupted goes on when it is given again. Open this
            page anew to see what came.
          </p>
        </section>
      </div>
    </Dialog>
  );
}
