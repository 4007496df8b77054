import { type FormEvent, useState } from "react";
import { StudioError, sendJson } from "../../api/client";
import "./login.css";

const reasons: Record<string, string> = {
  share: "This link has ended, or it is not whole. Ask whoever sent it for a new one.",
};

/** Says who looks; the token is sent once, and the browser keeps a session that no script can read. */
export default function Login({ why, onDone }: { why: string | null; onDone: () => void }) {
  const [token, setToken] = useState("");
  const [error, setError] = useState<string | null>(why ? (reasons[why] ?? null) : null);
  const [waiting, setWaiting] = useState(false);
  const send = async (event: FormEvent) => {
    event.preventDefault();
    setWaiting(true);
    try {
      await sendJson("POST", "/login", { token: token.trim() });
      onDone();
    } catch (failure) {
      setError(failure instanceof StudioError ? failure.message : String(failure));
    } finally {
      setWaiting(false);
    }
  };
  return (
    <main className="login" id="main">
      <form className="login-card card" onSubmit={(event) => void send(event)}>
        <h1>
          <span aria-hidden>◈</span> Corporeal Studio
        </h1>
        <p>Studio has to know who you are. Log in with a token of your account.</p>
        <label htmlFor="token">Token</label>
        <input
          id="token"
          type="password"
          autoComplete="current-password"
          placeholder="crp_…"
          // biome-ignore lint/a11y/noAutofocus: the page has nothing else to do
          autoFocus
          required
          maxLength={200}
          value={token}
          aria-describedby="token-help"
          aria-invalid={error !== null}
          onChange={(event) => setToken(event.target.value)}
        />
        {error && (
          <p className="login-error" role="alert">
            {error}
          </p>
        )}
        <button type="submit" className="primary" disabled={waiting || !token.trim()}>
          {waiting ? "Looking…" : "Log in"}
        </button>
        <p id="token-help" className="muted">
          No token yet? An admin makes one on the server with{" "}
          <code>corporeal account token YOUR_NAME --label browser</code>
        </p>
      </form>
    </main>
  );
}
