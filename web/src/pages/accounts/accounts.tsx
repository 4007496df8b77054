import { useState } from "react";
import { addAccount, changeAccount, endSessions, endToken, listAccounts } from "../../api/accounts";
import type { AccountFacts } from "../../api/schema";
import { useMay } from "../../api/session";
import { useAnswer } from "../../api/use_answer";
import { Notice, Waiting } from "../../parts/notice";
import { AccountCard } from "./account_card";
import { NewAccountForm } from "./new_account_form";
import { SecretDialog } from "./secret_dialog";
import "./accounts.css";

/** Who may work here: roles, tokens and open sessions, each of which can be ended. */
export default function Accounts() {
  const answer = useAnswer(listAccounts, []);
  const [failure, setFailure] = useState<string | null>(null);
  const [secret, setSecret] = useState<{ name: string; token: string } | null>(null);
  const mayChange = useMay("account");
  if (answer.error && !answer.value) return <Notice error={answer.error} again={answer.again} />;
  if (!answer.value) return <Waiting what="Loading the accounts" />;
  const { accounts, roles } = answer.value;
  const carryOut = async (work: () => Promise<unknown>) => {
    setFailure(null);
    try {
      if ((await work()) !== "shown") answer.again();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    }
  };
  const add = (name: string, role: string) =>
    carryOut(async () => {
      const made = await addAccount({ name, role });
      if (!made.token) return;
      setSecret({ name, token: made.token });
      // Asking again now would lead to the log-in before the token is read.
      return "shown";
    });
  const card = (account: AccountFacts) => (
    <AccountCard
      key={account.name}
      account={account}
      roles={roles}
      mayChange={mayChange}
      onChange={(change) => void carryOut(() => changeAccount(account.name, change))}
      onToken={(token) => setSecret({ name: account.name, token })}
      onEndToken={(label) => void carryOut(() => endToken(account.name, label))}
      onEndSession={(id) => void carryOut(() => endSessions(account.name, id))}
    />
  );
  return (
    <div className="accounts">
      <header>
        <h1>Accounts</h1>
        <p>
          {accounts.length
            ? "A change counts from the next request on, and is in the audit log. Whoever is disabled is out at once, with every token, browser and share link."
            : "Nobody has an account yet: everybody on this machine may do everything. The first account is an admin's, and from then on people log in."}
        </p>
      </header>
      {failure && (
        <p className="accounts-failure" role="alert">
          {failure}
        </p>
      )}
      {mayChange && (
        <NewAccountForm
          roles={accounts.length ? roles : roles.filter((role) => role.name === "admin")}
          onAdd={add}
        />
      )}
      <ul className="accounts-list">{accounts.map(card)}</ul>
      {secret && (
        <SecretDialog
          {...secret}
          onClose={() => {
            setSecret(null);
            answer.again();
          }}
        />
      )}
    </div>
  );
}
