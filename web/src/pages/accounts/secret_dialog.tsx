import { Dialog } from "../../parts/dialog";

/** A new token, which nobody can read again. */
export function SecretDialog({
  name,
  token,
  onClose,
}: {
  name: string;
  token: string;
  onClose: () => void;
}) {
  return (
    <Dialog title={`A token for ${name}`} onClose={onClose}>
      <p>Give it to {name} now: it is not stored, and not shown again.</p>
      <input
        className="account-secret mono"
        aria-label="The token"
        readOnly
        value={token}
        onFocus={(event) => event.target.select()}
      />
    </Dialog>
  );
}
