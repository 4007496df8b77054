import type { ReactNode } from "react";
import { browseAddress } from "../../api/dashboards";

/** Something drawn that can be pointed at, and opened where episodes stand behind it. */
export function Mark({
  detail,
  query,
  children,
}: {
  detail: string;
  query: string | null;
  children: ReactNode;
}) {
  const href = browseAddress(query);
  if (href === null) {
    return (
      // biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: a group of SVG is not interactive
      <g data-mark data-detail={detail} role="img" aria-label={detail} className="mark">
        {children}
      </g>
    );
  }
  return (
    <a
      data-mark
      data-detail={detail}
      href={href}
      aria-label={`${detail}. Open these episodes`}
      className="mark"
    >
      {children}
    </a>
  );
}
