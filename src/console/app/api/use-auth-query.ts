/** What `/auth` knows, asked when a page is come to. (What GraphQL knows is Apollo's.) */
import { useCallback, useEffect, useState } from "react";

type AuthQueryResult<Data> = { data: Data | null; error: unknown; reload: () => void };

/** `load` stays the same function from drawing to drawing. While it is asked again the former answer stays. */
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
