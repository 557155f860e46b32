/** Requests that the server rejects until the user confirms their identity. One dialog serves all of them. */

export interface Reauthentication {
  /** Opens the dialog. Resolves to true if the user confirmed; concurrent requests share the result. */
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
