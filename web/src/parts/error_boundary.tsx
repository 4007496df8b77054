import { Component, type ReactNode } from "react";

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
    const isStale = stale.test(error.message);
    return (
      <div className="notice" role="alert">
        <h2>{isStale ? "Studio was updated" : "This page cannot be shown"}</h2>
        <p>
          {isStale
            ? "A newer version of Studio runs on the server. Reload the page to use it; nothing that you saved is lost."
            : `Studio's page has failed: ${error.message}. Reload it; if it fails again, report what you did.`}
        </p>
        <button type="button" className="primary" onClick={() => window.location.reload()}>
          Reload
        </button>
      </div>
    );
  }
}
