import { lazy, Suspense, useEffect, useState } from "react";
import { sendJson } from "./api/client";
import type { Session } from "./api/schema";
import { getSession, SessionContext } from "./api/session";
import { useAnswer } from "./api/use_answer";
import { loadPage, pageAt } from "./page_parts";
import { ErrorBoundary } from "./parts/error_boundary";
import { HelpDialog } from "./parts/help_dialog";
import { Link } from "./parts/link";
import { NotFound, Notice, Waiting } from "./parts/notice";
import { OfflineBanner } from "./parts/offline_banner";
import { Palette } from "./parts/palette";
import { type Entry, pageActions, pageButtons } from "./parts/palette_entries";
import { go, useAddress } from "./parts/router";
import { paletteKey, useShortcuts } from "./parts/shortcuts";
import { chooseTheme, type Theme, ThemeButton } from "./parts/theme_button";
import { UndoToast } from "./parts/undo_toast";

const Login = lazy(() => import("./pages/login/login"));

const sections: { path: string; title: string; needs?: string }[] = [
  { path: "/", title: "Overview" },
  { path: "/episodes", title: "Episodes" },
  { path: "/labels", title: "Labels" },
  { path: "/review", title: "Review" },
  { path: "/releases", title: "Releases" },
  { path: "/dashboards", title: "Dashboards" },
  { path: "/live", title: "Live" },
  { path: "/calibrations", title: "Calibrations" },
  { path: "/floor", title: "Floor" },
  { path: "/accounts", title: "Accounts", needs: "account" },
  { path: "/campaigns", title: "Campaigns" },
];
/** Pages that the bar has no room for: found by Ctrl+K, and linked where they belong. */
const others: { path: string; title: string }[] = [
  { path: "/board", title: "Board" },
  { path: "/operators", title: "Operators" },
];

/** Alt+1 to Alt+9, then Alt+0, as the keys lie; what comes after has none. */
const keyOf = (place: number) => (place < 10 ? `Alt+${(place + 1) % 10}` : "");

/** The session, with the page that is open: it appears whole. */
async function openSession(): Promise<Session> {
  const [session] = await Promise.all([getSession(), loadPage(window.location.pathname)]);
  return session;
}

export function App() {
  return (
    <ErrorBoundary of="app">
      <Frame />
    </ErrorBoundary>
  );
}

function Frame() {
  const address = useListAddress();
  const [wantsLogin, setWantsLogin] = useState(false);
  const session = useAnswer(openSession, [wantsLogin]);
  const [help, setHelp] = useState(false);
  const [palette, setPalette] = useState<Entry[] | null>(null);
  useEffect(() => {
    const ask = () => setWantsLogin(true);
    window.addEventListener("studio:login", ask);
    return () => window.removeEventListener("studio:login", ask);
  }, []);
  useShortcuts("Everywhere", [
    {
      keys: [paletteKey],
      does: "Go to an episode, page or saved view; do anything that works here",
      run: () => setPalette(entriesFor(session.value, () => setHelp(true))),
    },
    { keys: ["?"], does: "List the keys that work here", run: () => setHelp(true) },
    ...sections.slice(0, 10).map(({ path, title }, place) => ({
      keys: [keyOf(place)],
      does: `Go to ${title}`,
      run: () => go(path),
    })),
  ]);
  if (wantsLogin || address.pathname === "/login") {
    return (
      <Suspense fallback={<Waiting />}>
        <Login
          why={address.searchParams.get("why")}
          onDone={() => {
            setWantsLogin(false);
            session.again();
            if (address.pathname === "/login") go("/", { replace: true });
          }}
        />
      </Suspense>
    );
  }
  return (
    <div className="frame">
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <Top
        session={session.value}
        pathname={address.pathname}
        onHelp={() => setHelp(true)}
        onPalette={() => setPalette(entriesFor(session.value, () => setHelp(true)))}
      />
      <OfflineBanner />
      <main id="main" tabIndex={-1}>
        {session.error && !session.value ? (
          <Notice error={session.error} again={session.again} />
        ) : !session.value ? (
          <Waiting />
        ) : (
          <SessionContext value={session.value}>
            <ErrorBoundary of={address.pathname}>
              <Suspense fallback={<Waiting />}>
                <Page address={address} session={session.value} />
              </Suspense>
            </ErrorBoundary>
          </SessionContext>
        )}
      </main>
      <UndoToast />
      {palette && <Palette entries={palette} onClose={() => setPalette(null)} />}
      {help && <HelpDialog onClose={() => setHelp(false)} />}
    </div>
  );
}

/** Where the page is. The list had the address / once: links with a query still lead to it. */
function useListAddress(): URL {
  const address = useAddress();
  const isList = address.pathname === "/" && address.searchParams.size > 0;
  if (isList) address.pathname = "/episodes";
  useEffect(() => {
    if (isList) go(address.pathname + address.search, { replace: true });
  }, [isList, address.pathname, address.search]);
  return address;
}

/** What the palette offers: pages, what the keys of the open page do, settings. */
function entriesFor(session: Session | null, onHelp: () => void): Entry[] {
  const isGuest = !session || session.episodes !== null;
  const open = isGuest ? [] : sections.filter(({ needs }) => !needs || session.may.includes(needs));
  const themes: [Theme, string][] = [
    ["light", "Theme: light"],
    ["dark", "Theme: dark"],
    ["auto", "Theme: as the system has it"],
  ];
  return [
    ...open.map((section): Entry => {
      const keys = keyOf(sections.indexOf(section));
      return { kind: "page", title: section.title, keys, run: () => go(section.path) };
    }),
    ...(isGuest ? [] : others).map(({ path, title }): Entry => {
      return { kind: "page", title, run: () => go(path) };
    }),
    ...pageActions(),
    ...themes.map(([theme, title]): Entry => {
      return { kind: "setting", title, run: () => chooseTheme(theme) };
    }),
    { kind: "action", title: "Keyboard shortcuts", keys: "?", run: onHelp },
    ...pageButtons(),
  ];
}

function Page({ address, session }: { address: URL; session: Session }) {
  const Found = pageAt(address.pathname);
  if (session.episodes && !/^\/(episodes\/|compare)/.test(address.pathname)) {
    return <SharedEpisodes episodes={session.episodes} />;
  }
  if (!Found) return <NotFound title="Page not found" words={address.pathname} />;
  return <Found address={address} />;
}

/** What a visitor by a link sees instead of everything else. */
function SharedEpisodes({ episodes }: { episodes: string[] }) {
  return (
    <div className="notice">
      <h2>Shared with you</h2>
      <ul>
        {episodes.map((id) => (
          <li key={id}>
            <Link href={`/episodes/${encodeURIComponent(id)}`}>{id}</Link>
          </li>
        ))}
      </ul>
      <p>
        To see more, <Link href="/login">log in</Link>.
      </p>
    </div>
  );
}

function Top({
  session,
  pathname,
  onHelp,
  onPalette,
}: {
  session: Session | null;
  pathname: string;
  onHelp: () => void;
  onPalette: () => void;
}) {
  return (
    <header className="top">
      <Link href="/" className="brand">
        <span aria-hidden>◈</span> Corporeal <b>{session?.workspace}</b>
      </Link>
      {session && !session.episodes && (
        <nav aria-label="Sections">
          {sections
            .filter(({ needs }) => !needs || session.may.includes(needs))
            .map(({ path, title }) => (
              <Link key={path} href={path} aria-current={isAt(pathname, path) ? "page" : undefined}>
                {title}
              </Link>
            ))}
        </nav>
      )}
      <span className="who">
        {session?.read_only && <span className="chip">read-only</span>}
        {session && <Who session={session} />}
        <button type="button" className="quiet" onClick={onPalette} title="Go to, or do (Ctrl+K)">
          <span aria-hidden>⌕</span> <kbd className="wide-only">Ctrl</kbd>
          <kbd className="wide-only">K</kbd>
          <span className="spoken">Go to, or do</span>
        </button>
        <button type="button" className="quiet" onClick={onHelp} aria-label="Keyboard shortcuts">
          ?
        </button>
        <ThemeButton />
      </span>
    </header>
  );
}

/** The visitor's name; where there are accounts, the way in or out. */
function Who({ session }: { session: Session }) {
  if (session.guest) return <Link href="/login">Log in</Link>;
  const leave = () => void sendJson("POST", "/logout").then(() => window.location.assign("/"));
  return (
    <>
      <span title={`role: ${session.role}`}>{session.name}</span>
      {session.accounts && (
        <button type="button" className="quiet" onClick={leave}>
          Log out
        </button>
      )}
    </>
  );
}

function isAt(pathname: string, path: string): boolean {
  if (path === "/") return pathname === "/";
  if (path === "/episodes") return pathname.startsWith("/episodes") || pathname === "/compare";
  if (path === "/labels" && pathname.startsWith("/annotate")) return true;
  return pathname.startsWith(path);
}
