import { useState } from "react";
import { makeToken } from "../../api/accounts";
import type { AccountChange, AccountFacts, RoleFacts } from "../../api/schema";

/** One account: its role, whether it is in use, and what lets somebody in by it. */
export function AccountCard({
  account,
  roles,
  mayChange,
  onChange,
  onToken,
  onEndToken,
  onEndSession,
}: {
  account: AccountFacts;
  roles: RoleFacts[];
  mayChange: boolean;
  onChange: (change: AccountChange) => void;
  onToken: (token: string) => void;
  onEndToken: (label: string) => void;
  onEndSession: (id?: string) => void;
}) {
  const { name, role, disabled, tokens, sessions } = account;
  return (
    <li className={`card account ${disabled ? "account-disabled" : ""}`} aria-label={name}>
      <div className="account-head">
        <b>{name}</b>
        {disabled && <span className="chip quarantined">disabled</span>}
        <span className="muted">since {account.created_at.slice(0, 10)}</span>
        <span className="account-actions">
          <select
            aria-label={`Role of ${name}`}
            value={role}
            disabled={!mayChange}
            title={roles.find((each) => each.name === role)?.may.join("\n")}
            onChange={(event) => onChange({ role: event.target.value })}
          >
            {roles.map((each) => (
              <option key={each.name}>{each.name}</option>
            ))}
          </select>
          {mayChange && (
            <button
              type="button"
              aria-label={`${disabled ? "Enable" : "Disable"} ${name}`}
              onClick={() => onChange({ disabled: !disabled })}
            >
              {disabled ? "Enable" : "Disable"}
            </button>
          )}
        </span>
      </div>
      <Entries
        title="Tokens"
        none="No token: nobody can log in by this account."
        entries={tokens.map((token) => ({
          id: token.label,
          words: token.label,
          details: `made ${token.created_at.slice(0, 10)}, ${
            token.expires_at ? `until ${token.expires_at.slice(0, 10)}` : "without an end"
          }`,
        }))}
        verb="Revoke"
        onEnd={mayChange ? onEndToken : null}
      />
      {mayChange && !disabled && <TokenForm name={name} onToken={onToken} />}
      <Entries
        title="Logged in"
        none="In no browser."
        entries={sessions.map((session) => ({
          id: session.id,
          words: `from ${session.address}`,
          details: `with ${session.label}, since ${session.created_at.slice(0, 16).replace("T", " ")}`,
        }))}
        verb="Log out"
        onEnd={mayChange ? onEndSession : null}
      />
    </li>
  );
}

interface Entry {
  id: string;
  words: string;
  details: string;
}

function Entries({
  title,
  none,
  entries,
  verb,
  onEnd,
}: {
  title: string;
  none: string;
  entries: Entry[];
  verb: string;
  onEnd: ((id: string) => void) | null;
}) {
  return (
    <section>
      <h3>{title}</h3>
      {!entries.length && <p className="muted">{none}</p>}
      <ul>
        {entries.map(({ id, words, details }) => (
          <li key={id} className="account-entry">
            <span>
              {words} <span className="muted">{details}</span>
            </span>
            {onEnd && (
              <button type="button" aria-label={`${verb}: ${words}`} onClick={() => onEnd(id)}>
                {verb}
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** A token is made here and shown once by whoever is told. */
function TokenForm({ name, onToken }: { name: string; onToken: (token: string) => void }) {
  const [label, setLabel] = useState("");
  const [failure, setFailure] = useState<string | null>(null);
  const make = () =>
    makeToken(name, { label: label.trim(), days: 90 }).then(
      ({ token }) => {
        setLabel("");
        setFailure(null);
        onToken(token);
      },
      (error: unknown) => setFailure(error instanceof Error ? error.message : String(error)),
    );
  return (
    <form
      className="account-entry"
      onSubmit={(event) => {
        event.preventDefault();
        void make();
      }}
    >
      <input
        aria-label={`What a new token of ${name} is for`}
        placeholder="browser, notebook, …"
        maxLength={80}
        value={label}
        onChange={(event) => setLabel(event.target.value)}
      />
      <button type="submit" disabled={!label.trim()}>
        New token
      </button>
      {failure && (
        <span className="accounts-failure" role="alert">
          {failure}
        </span>
      )}
    </form>
  );
}
