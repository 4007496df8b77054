import { useEffect, useState } from "react";

export type Theme = "auto" | "light" | "dark";
const next: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };
const signs: Record<Theme, string> = { auto: "◐", light: "☀", dark: "☾" };

function stored(): Theme {
  const found = localStorage.getItem("studio.theme");
  return found === "light" || found === "dark" ? found : "auto";
}

/** Light, dark, or as the system has it. Drawn things listen for "studio:theme". */
export function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(stored);
  useEffect(() => {
    const choose = ({ detail }: CustomEvent<Theme>) => setTheme(detail);
    window.addEventListener("studio:choose-theme", choose as EventListener);
    return () => window.removeEventListener("studio:choose-theme", choose as EventListener);
  }, []);
  useEffect(() => {
    if (theme === "auto") {
      localStorage.removeItem("studio.theme");
      delete document.documentElement.dataset.theme;
    } else {
      localStorage.setItem("studio.theme", theme);
      document.documentElement.dataset.theme = theme;
    }
    window.dispatchEvent(new Event("studio:theme"));
  }, [theme]);
  return (
    <button
      type="button"
      className="quiet"
      title={`Theme: ${theme}`}
      aria-label={`Theme: ${theme}. Change to ${next[theme]}`}
      onClick={() => setTheme(next[theme])}
    >
      {signs[theme]}
    </button>
  );
}

export function chooseTheme(theme: Theme): void {
  window.dispatchEvent(new CustomEvent("studio:choose-theme", { detail: theme }));
}
