/** Who is signed in, as one value that the router guards by and components read. */
import { createContext, useContext, useSyncExternalStore } from "react";
import { api, ApiError } from "../api/client.ts";

export type Role = "owner" | "member" | "operator";
export type Scope = "jobs:read" | "jobs:write" | "webhooks:manage";

export interface Session {
  user: {
    id: string;
    name: string;
    email: string;
    role: Role;
    has_two_factor: boolean;
    /** Whoever must and has none can do nothing but turn it on. */
    requires_two_factor: boolean;
  };
  /** Null for an operator. */
  organization: { id: string; name: string; type: "agent" | "contractor" } | null;
  scopes: readonly Scope[];
  session_id: string;
  expires_at: string;
}

export interface SessionStore {
  /** Null: nobody is signed in. */
  current: () => Session | null;
  /** Asks the server who is signed in. */
  load: () => Promise<Session | null>;
  /** Forgets: the server says that it is over. */
  end: () => void;
  subscribe: (listener: () => void) => () => void;
}

export function createSessionStore(): SessionStore {
  let session: Session | null = null;
  const listeners = new Set<() => void>();
  const set = (next: Session | null): void => {
    // Who hears of it asks anew for whatever is shown.
    if (JSON.stringify(next) === JSON.stringify(session)) return;
    session = next;
    for (const listener of listeners) listener();
  };
  return {
    current: () => session,
    async load() {
      set(await fetchSession());
      return session;
    },
    end() {
      if (session !== null) set(null);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

async function fetchSession(): Promise<Session | null> {
  try {
    return await api.anonymous.get<Session>("auth/session");
  } catch (error) {
    if (error instanceof ApiError && (error.status === 401 || error.status === 403)) return null;
    throw error;
  }
}

const SessionContext = createContext<SessionStore | null>(null);
export const SessionProvider = SessionContext.Provider;

/** The session's keeper: to load it anew after a change of one's own. */
export function useSessionStore(): SessionStore {
  const store = useContext(SessionContext);
  if (!store) throw new Error("useSession is used outside of SessionProvider");
  return store;
}

/** Who is signed in. Only below the shell, where somebody is. */
export function useSession(): Session {
  const session = useOptionalSession();
  if (!session) throw new Error("useSession is used where nobody is signed in");
  return session;
}

export function useOptionalSession(): Session | null {
  const store = useSessionStore();
  return useSyncExternalStore(store.subscribe, store.current);
}
