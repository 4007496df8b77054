import { type RefObject, useEffect, useState } from "react";

interface Shown {
  text: string;
  x: number;
  y: number;
}

/** Says what the mark under the pointer or the focus is; screen readers have it from the mark. */
export function Tooltip({ within }: { within: RefObject<HTMLElement | null> }) {
  const [shown, setShown] = useState<Shown | null>(null);
  useEffect(() => {
    const element = within.current;
    if (!element) return;
    const show = (event: Event) => {
      const mark = event.target instanceof Element ? event.target.closest("[data-detail]") : null;
      if (!mark) return setShown(null);
      const box = mark.getBoundingClientRect();
      const pointer = event instanceof PointerEvent ? event.clientX : box.left + box.width / 2;
      setShown({ text: mark.getAttribute("data-detail") ?? "", x: pointer, y: box.top });
    };
    const hide = () => setShown(null);
    const hideOnEscape = (event: KeyboardEvent) => event.key === "Escape" && hide();
    element.addEventListener("pointerover", show);
    element.addEventListener("focusin", show);
    element.addEventListener("pointerleave", hide);
    element.addEventListener("focusout", hide);
    element.addEventListener("keydown", hideOnEscape);
    window.addEventListener("scroll", hide, true);
    return () => {
      element.removeEventListener("pointerover", show);
      element.removeEventListener("focusin", show);
      element.removeEventListener("pointerleave", hide);
      element.removeEventListener("focusout", hide);
      element.removeEventListener("keydown", hideOnEscape);
      window.removeEventListener("scroll", hide, true);
    };
  }, [within]);
  if (!shown) return null;
  const left = Math.min(Math.max(shown.x, 130), window.innerWidth - 130);
  return (
    <div
      className={`chart-tip ${shown.y < 90 ? "chart-tip-low" : ""}`}
      style={{ left, top: shown.y }}
      aria-hidden
    >
      {shown.text}
    </div>
  );
}
