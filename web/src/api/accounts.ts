// Who may work here; for admins.

import { address, getJson, sendJson } from "./client";
import type {
  AccountChange,
  AccountFacts,
  AccountList,
  MadeAccount,
  MadeToken,
  NewAccount,
  NewToken,
} from "./schema";

const of = (name: string) => `/accounts/${encodeURIComponent(name)}`;

export function listAccounts(signal?: AbortSignal): Promise<AccountList> {
  return getJson("/accounts", {}, signal);
}

export function addAccount(wish: NewAccount): Promise<MadeAccount> {
  return sendJson("POST", "/accounts", wish);
}

export function changeAccount(name: string, change: AccountChange): Promise<AccountFacts> {
  return sendJson("PATCH", of(name), change);
}

export function makeToken(name: string, wish: NewToken): Promise<MadeToken> {
  return sendJson("POST", `${of(name)}/tokens`, wish);
}

export function endToken(name: string, label: string): Promise<void> {
  return sendJson("DELETE", within(`${of(name)}/tokens`, { label }));
}

/** In one browser, or in all. */
export function endSessions(name: string, session?: string): Promise<void> {
  return sendJson("DELETE", within(`${of(name)}/sessions`, { session }));
}

function within(path: string, params: Record<string, string | undefined>): string {
  return address(path, params).slice("/api".length);
}
