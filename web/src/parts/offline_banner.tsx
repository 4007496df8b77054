import { useEffect, useState } from "react";
import { getSession } from "../api/session";

/** Says when the server is gone, and when it is back. */
export function OfflineBanner() {
  const [isAway, setAway] = useState(false);
  useEffect(() => {
    const listen = (event: Event) => setAway(!(event as CustomEvent<boolean>).detail);
    window.addEventListener("studio:reachable", listen);
    return () => window.removeEventListener("studio:reachable", listen);
  }, []);
  useEffect(() => {
    if (!isAway) return;
    const timer = setInterval(() => void getSession().catch(() => undefined), 2000);
    return () => clearInterval(timer);
  }, [isAway]);
  if (!isAway) return null;
  return (
    <div className="away" role="alert">
      Studio's server does not answer. What you see stays here; Studio tries again every two
      seconds.
    </div>
  );
}
