import { createContext, useContext } from "react";
import { getJson } from "./client";
import { prefetched } from "./prefetch";
import type { Session } from "./schema";

export const sessionKey = "session";

export function fetchSession(): Promise<Session> {
  return getJson<Session>("/session");
}

export function getSession(): Promise<Session> {
  return prefetched(sessionKey, fetchSession);
}

const nobody: Session = {
  workspace: "",
  version: "",
  name: "",
  role: "viewer",
  guest: true,
  read_only: true,
  may: [],
  accounts: false,
  sees_people: false,
  episodes: null,
};

export const SessionContext = createContext<Session>(nobody);

export function useSession(): Session {
  return useContext(SessionContext);
}

/** Whether the visitor may do this, on a Studio that lets anything be changed at all. */
export function useMay(action: string): boolean {
  const session = useSession();
  return session.may.includes(action) && (action === "read" || !session.read_only);
}
