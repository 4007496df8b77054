import { type FormEvent, useState } from "react";
import { useMay, useSession } from "../api/session";
import { endShare, listShares, makeShare } from "../api/share";
import { useAnswer } from "../api/use_answer";
import { CopyLine } from "./copy_line";
import { Dialog } from "./dialog";
import { ShareList } from "./share_list";
import "./share_dialog.css";

interface Props {
  episodes: string[];
  /** Where the link leads: a path of Studio with the exact moment, such as /episodes/ID?t=1200000000. */
  address: string;
  onClose: () => void;
}

const spans: [number, string][] = [
  [1, "one day"],
  [14, "two weeks"],
  [90, "three months"],
  [366, "one year"],
];

/** Shows this moment to others: to those who may log in, or to whoever has the link. */
export function ShareDialog({ episodes, address, onClose }: Props) {
  const mayShare = useMay("share");
  const { accounts } = useSession();
  return (
    <Dialog title="Share this moment" onClose={onClose}>
      <div className="share">
        <section>
          <h3>With those who can open Studio</h3>
          <p className="muted">The address of this page leads to this very moment.</p>
          <CopyLine label="Address of this moment" text={window.location.origin + address} />
          {isHere(window.location.hostname) && (
            <p className="share-here">
              Only this computer can open this address, and any link made here. To let others in,{" "}
              {!accounts && (
                <>
                  give them accounts (<code>corporeal account add</code>), then{" "}
                </>
              )}
              start Studio with <code>--host</code>.
            </p>
          )}
        </section>
        {mayShare ? (
          <GuestLinks episodes={episodes} address={address} />
        ) : (
          <p className="muted">
            To share it with others, ask an admin for the role operator, on a Studio that is not
            read-only.
          </p>
        )}
      </div>
    </Dialog>
  );
}

/** Whether an address means the computer that it is opened on. */
export function isHere(host: string): boolean {
  return host === "localhost" || host === "[::1]" || host.startsWith("127.");
}

function GuestLinks({ episodes, address }: { episodes: string[]; address: string }) {
  const [label, setLabel] = useState("");
  const [days, setDays] = useState(14);
  const [link, setLink] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);
  const there = useAnswer((signal) => listShares(episodes[0] ?? "", signal), [episodes[0]]);
  const attempt = async (work: () => Promise<void>) => {
    try {
      setError(null);
      await work();
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure));
    }
    there.again();
  };
  const make = (event: FormEvent) => {
    event.preventDefault();
    void attempt(async () => {
      const made = await makeShare({ episodes, address, label, days });
      setLink(window.location.origin + made.path);
    });
  };
  return (
    <section>
      <h3>With whoever has a link</h3>
      <p className="muted">
        The link shows{" "}
        {episodes.length === 1 ? "this episode" : `these ${episodes.length} episodes`} and nothing
        else, without a log-in; nothing can be changed with it.
      </p>
      <form className="share-form" onSubmit={make}>
        <label>
          Label
          <input
            value={label}
            maxLength={120}
            placeholder="Camera supplier"
            onChange={(event) => setLabel(event.target.value)}
          />
        </label>
        <label>
          Expires
          <select value={days} onChange={(event) => setDays(Number(event.target.value))}>
            {spans.map(([count, name]) => (
              <option key={count} value={count}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" className="primary">
          Make a link
        </button>
      </form>
      {error && (
        <p className="share-error" role="alert">
          {error}
        </p>
      )}
      {link && (
        <>
          <CopyLine label="New link" text={link} />
          <p className="muted" role="status">
            Copy it now: it is shown this once. Studio keeps only its hash.
          </p>
        </>
      )}
      <ShareList shares={there.value ?? []} onEnd={(id) => void attempt(() => endShare(id))} />
    </section>
  );
}
