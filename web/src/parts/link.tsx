import type { AnchorHTMLAttributes } from "react";
import { go } from "./router";

/** A link within Studio that does not load the page anew; a middle click still opens a tab. */
export function Link({
  href,
  onClick,
  ...rest
}: AnchorHTMLAttributes<HTMLAnchorElement> & { href: string }) {
  return (
    <a
      href={href}
      onClick={(event) => {
        onClick?.(event);
        const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey;
        if (event.defaultPrevented || !plain || rest.target) return;
        event.preventDefault();
        go(href);
      }}
      {...rest}
    />
  );
}
