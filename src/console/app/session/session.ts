/** The current session, as a store that the router's guards and components read. */
import { createContext, useContext, useSyncExternalStore } from "react";
import { api, ApiError } from "../api/client.ts";
import { readMode, saveMode, type Mode } from "./mode.ts";
import { reauthentication } from "./reauthentication.ts";

export type Role = "owner" | "developer" | "dispatcher" | "viewer" | "operator";
export type Scope = "jobs:read" | "jobs:write" | "webhooks:manage" | "keys:manage";

export interface Session {
  user: {
    id: string;
    name: string;
    email: string;
    role: Role;
    has_passkeys: boolean;
    has_two_factor: boolean;
    /** Until it is on, the user can do nothing else. */
    requires_two_factor: boolean;
    /** Single sign-on opened the session. */
    by_sso: boolean;
  };
  /** Null for an operator who does not view one. */
  organization: SessionOrganization | null;
  /** The organisation that an operator can view. */
  viewed: SessionOrganization | null;
  /** In the store: of the current mode. */
  scopes: readonly Scope[];
  test_scopes: readonly Scope[];
  session_id: string;
  expires_at: string;
}

interface SessionOrganization {
  id: string;
  name: string;
  type: "agent" | "contractor";
  time_zone: string;
  can_import_jobs: boolean;
}

export interface SessionStore {
  /** Null if no user is signed in. */
  current: () => Session | null;
  /** Why the session ended, in a sentence; null if there was none. */
  endReason: () => string | null;
  load: () => Promise<Session | null>;
  /**
   * The server rejected the session. With unsaved input the user can sign in again over the page: resolves to true if they did.
   * Otherwise clears the session.
   */
  end: () => Promise<boolean>;
  /** Sets the function that tells whether the page has unsaved input. */
  watchInput: (hasInput: () => boolean) => void;
  /** Live if no user is signed in, and for operators. */
  mode: () => Mode;
  /** `test`: for users of an organisation, after `POST /auth/test-mode`. `partner`: for operators, after `viewAsOrganization`. */
  setMode: (mode: Mode) => void;
  subscribe: (listener: () => void) => () => void;
}

const noInput = (): boolean => false;

export function createSessionStore(): SessionStore {
  let loaded: Session | null = null;
  let session: Session | null = null;
  let mode: Mode = "live";
  let endReason: string | null = null;
  let hasInput = noInput;
  const listeners = new Set<() => void>();
  const emit = (): void => {
    session = loaded && inMode(loaded, mode);
    for (const listener of listeners) listener();
  };
  const set = (next: Session | null): void => {
    // Listeners reload everything, so skip them if nothing changed.
    if (JSON.stringify(next) === JSON.stringify(loaded)) return;
    if (next) endReason = null;
    if (next?.user.id !== loaded?.user.id) mode = next ? readMode(next.user.id) : "live";
    if (next && (mode === "partner" ? !next.viewed : !next.organization)) mode = "live";
    loaded = next;
    emit();
  };
  const read = (): Promise<Session | null> =>
    fetchSession().catch((error: unknown) => {
      endReason = refusalOf(error) ?? endReason;
      return null;
    });
  const end = async (): Promise<boolean> => {
    const isBack = session !== null && hasInput() && (await reauthentication.request("ended"));
    if (session && !isBack) endReason ??= "Your session has ended. Sign in again to continue.";
    set(isBack ? await read() : null);
    return isBack;
  };
  return {
    current: () => session,
    endReason: () => endReason,
    async load() {
      const next = await read();
      if (next === null) await end();
      else set(next);
      return session;
    },
    end,
    watchInput(next) {
      hasInput = next;
    },
    mode: () => mode,
    setMode(next) {
      if (!session || next === mode) return;
      saveMode(session.user.id, next);
      mode = next;
      emit();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The session as pages use it. The server enforces the same. */
function inMode(session: Session, mode: Mode): Session {
  if (mode === "test") return { ...session, scopes: session.test_scopes };
  if (mode !== "partner") return session;
  const { user, viewed: organization } = session;
  return {
    ...session,
    organization,
    user: { ...user, role: "viewer" },
    scopes: ["jobs:read"],
    test_scopes: [],
  };
}

/** Why the server rejected the session: null without one, a sentence if it says so. Throws every other error. */
function refusalOf(error: unknown): string | null {
  if (error instanceof ApiError && error.status === 401) return null;
  if (error instanceof ApiError && error.status === 403) return error.message;
  throw error;
}

/** The page contains the session of its own request. Throws ApiError: 401 without a session, 403 if it is rejected. */
async function fetchSession(): Promise<Session | null> {
  const element = document.querySelector("#session");
  element?.remove();
  if (element) return JSON.parse(element.textContent) as Session | null;
  return await api.anonymous.get<Session>("auth/session");
}

const SessionContext = createContext<SessionStore | null>(null);
export const SessionProvider = SessionContext.Provider;

/** The store, for example to reload the session after the user changed their profile. */
export function useSessionStore(): SessionStore {
  const store = useContext(SessionContext);
  if (!store) throw new Error("useSessionStore must be used inside SessionProvider");
  return store;
}

/** The session. Use it only below the shell, where a user is signed in. */
export function useSession(): Session {
  const session = useOptionalSession();
  if (!session) throw new Error("useSession must be used where a user is signed in");
  return session;
}

export function useOptionalSession(): Session | null {
  const store = useSessionStore();
  return useSyncExternalStore(store.subscribe, store.current);
}

export function useMode(): Mode {
  const store = useSessionStore();
  return useSyncExternalStore(store.subscribe, store.mode);
}
