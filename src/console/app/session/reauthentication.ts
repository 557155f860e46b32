/** Requests that the server rejects until the user confirms their identity or signs in again. One dialog serves all of them. */

/** `ended`: the session, while the page has unsaved input. */
export type ReauthenticationReason = "stale" | "ended";

export interface Reauthentication {
  /** Opens the dialog. Resolves to true if the user confirmed; concurrent requests share the result. */
  request: (reason: ReauthenticationReason) => Promise<boolean>;
  /** Closes the dialog. */
  settle: (isConfirmed: boolean) => void;
  isOpen: () => boolean;
  reason: () => ReauthenticationReason;
  subscribe: (listener: () => void) => () => void;
}

export const reauthentication = createReauthentication();

function createReauthentication(): Reauthentication {
  let pending: PromiseWithResolvers<boolean> | null = null;
  let latestReason: ReauthenticationReason = "stale";
  const listeners = new Set<() => void>();
  const setPending = (next: typeof pending): void => {
    pending = next;
    for (const listener of listeners) listener();
  };
  return {
    request(reason) {
      if (!pending) latestReason = reason;
      if (!pending) setPending(Promise.withResolvers<boolean>());
      return (pending as PromiseWithResolvers<boolean>).promise;
    },
    settle(isConfirmed) {
      pending?.resolve(isConfirmed);
      setPending(null);
    },
    isOpen: () => pending !== null,
    reason: () => latestReason,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
