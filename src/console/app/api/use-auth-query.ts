/** Loads data from the `/auth` routes when a component mounts. */
import { useCallback, useEffect, useState } from "react";

type AuthQueryResult<Data> = { data: Data | null; error: unknown; reload: () => void };

/** `load` must be a stable function. While it reloads, the previous data stays. */
export function useAuthQuery<Data>(load: () => Promise<Data>): AuthQueryResult<Data> {
  const [state, setState] = useState<{ data: Data | null; error: unknown }>({ data: null, error: null });
  const reload = useCallback(() => {
    load().then(
      (data) => setState({ data, error: null }),
      (error: unknown) => setState((former) => ({ ...former, error })),
    );
  }, [load]);
  useEffect(reload, [reload]);
  return { ...state, reload };
}
