import { Component, type ReactNode, useEffect, useState } from "react";
import { StudioError } from "../api/client";
import { fetchSession } from "../api/session";

interface Props {
  /** Something else here, such as another page, is another attempt. */
  of: string;
  children: ReactNode;
}

interface State {
  error: Error | null;
  of: string;
}

const stale = /dynamically imported module|module script failed|preload CSS/i;

/** A part that cannot be drawn says so in its place; the rest of the page lives on. */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = { error: null, of: this.props.of };

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  static getDerivedStateFromProps(props: Props, state: State): Partial<State> | null {
    return props.of === state.of ? null : { error: null, of: props.of };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    if (stale.test(error.message)) return <NotLoaded />;
    return (
      <Failure
        title="This page cannot be shown"
        sentence={`Studio's page has failed: ${error.message}. Reload it; if it fails again, report what you did.`}
      />
    );
  }
}

/** A page whose code did not come: the server is away, or has another version of it. */
function NotLoaded() {
  const [isAway, setAway] = useState<boolean | null>(null);
  useEffect(() => {
    fetchSession().then(
      () => setAway(false),
      (error: unknown) => setAway(error instanceof StudioError && error.status === 0),
    );
    // The browser keeps code that did not come as failed; nothing is written on a page without code.
    const back = (event: Event) => {
      if ((event as CustomEvent<boolean>).detail) window.location.reload();
    };
    window.addEventListener("studio:reachable", back);
    return () => window.removeEventListener("studio:reachable", back);
  }, []);
  if (isAway === null) return null;
  return isAway ? (
    <Failure
      title="This page could not be fetched"
      sentence="Studio's server does not answer. The page opens by itself as soon as the server is back."
    />
  ) : (
    <Failure
      title="Studio was updated"
      sentence="A newer version of Studio runs on the server. Reload the page to use it; nothing that you saved is lost."
    />
  );
}

function Failure({ title, sentence }: { title: string; sentence: string }) {
  return (
    <div className="notice" role="alert">
      <h2>{title}</h2>
      <p>{sentence}</p>
      <button type="button" className="primary" onClick={() => window.location.reload()}>
        Reload
      </button>
    </div>
  );
}
