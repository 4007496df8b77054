import { type ReactNode, useEffect, useRef } from "react";
import { createPortal } from "react-dom";

/**
 * A modal dialog; Escape and a click beside it close it, the focus returns to where it was. It hangs
 * below the body: inside of what is folded up it would open unseen.
 */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose: () => void;
  children: ReactNode;
}) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    element.current?.showModal();
    // What is to be filled in has the focus, not the button that closes.
    element.current
      ?.querySelector<HTMLElement>(".dialog-body :is(input, textarea):not([readonly], :disabled)")
      ?.focus();
  }, []);
  return createPortal(
    // biome-ignore lint/a11y/useKeyWithClickEvents: for the pointer only; keys reach the same by the controls inside
    <dialog
      ref={element}
      aria-label={title}
      onClose={onClose}
      onClick={(event) => {
        if (event.target === element.current) element.current.close();
      }}
    >
      <header>
        <h2>{title}</h2>
        <button
          type="button"
          className="quiet"
          aria-label="Close"
          onClick={() => element.current?.close()}
        >
          ×
        </button>
      </header>
      <div className="dialog-body">{children}</div>
    </dialog>,
    document.body,
  );
}
