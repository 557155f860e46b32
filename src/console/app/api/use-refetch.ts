/** Refetches a query after its data has changed on the server. */
import { useCallback, useEffect, useState } from "react";

interface RefetchableQuery {
  loading: boolean;
  refetch: () => Promise<{ error?: unknown }>;
}

const RETRY_DELAY_MS = 10_000;

/**
 * Waits for a request in flight, because its data may be older than the change and Apollo would deduplicate the two.
 * Repeats a failed refetch every 10 seconds.
 */
export function useRefetch({ loading, refetch }: RefetchableQuery): () => void {
  const [scheduled, setScheduled] = useState<{ afterMs: number } | null>(null);
  useEffect(() => {
    if (!scheduled || loading) return undefined;
    const read = async (): Promise<void> => {
      setScheduled(null);
      if (!(await refetchSucceeded(refetch))) setScheduled((later) => later ?? { afterMs: RETRY_DELAY_MS });
    };
    // In a timer, because Apollo still treats a response that is being rendered as in flight.
    const timer = setTimeout(() => void read(), scheduled.afterMs);
    return () => clearTimeout(timer);
  }, [scheduled, loading, refetch]);
  return useCallback(() => setScheduled({ afterMs: 0 }), []);
}

async function refetchSucceeded(refetch: RefetchableQuery["refetch"]): Promise<boolean> {
  try {
    const { error } = await refetch();
    return error === undefined;
  } catch {
    return false;
  }
}
