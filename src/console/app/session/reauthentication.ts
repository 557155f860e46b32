/** Confirming the user's identity for requests that the server rejects until then. One dialog serves all of them. */

export interface Reauthentication {
  /** Opens the dialog. Resolves with whether the user confirmed; requests made meanwhile share the answer. */
  request: () => Promise<boolean>;
  /** Closes the dialog. */
  settle: (isConfirmed: boolean) => void;
  isOpen: () => boolean;
  subscribe: (listener: () => void) => () => void;
}

export const reauthentication = createReauthentication();

function createReauthentication(): Reauthentication {
  let pending: PromiseWithResolvers<boolean> | null = null;
  const listeners = new Set<() => void>();
  const setPending = (next: typeof pending): void => {
    pending = next;
    for (const listener of listeners) listener();
  };
  return {
    request() {
      if (!pending) setPending(Promise.withResolvers<boolean>());
      return (pending as PromiseWithResolvers<boolean>).promise;
    },
    settle(isConfirmed) {
      pending?.resolve(isConfirmed);
      setPending(null);
    },
    isOpen: () => pending !== null,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
