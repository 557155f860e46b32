/** Asks a query again, for something has changed. */
import { useCallback, useEffect, useState } from "react";

interface RefetchableQuery {
  loading: boolean;
  refetch: () => Promise<{ error?: unknown }>;
}

const RETRY_DELAY_MS = 10_000;

/**
 * What is under way may have been read before the change, so it is waited for: the same question beside it would be given
 * its answer by Apollo, or have its own answer replaced by the older one. A question that fails is asked again, for the page
 * shows what it had.
 */
export function useRefetch({ loading, refetch }: RefetchableQuery): () => void {
  const [scheduled, setScheduled] = useState<{ afterMs: number } | null>(null);
  useEffect(() => {
    if (!scheduled || loading) return undefined;
    const read = async (): Promise<void> => {
      setScheduled(null);
      if (!(await refetchSucceeded(refetch))) setScheduled((later) => later ?? { afterMs: RETRY_DELAY_MS });
    };
    // Never at once: an answer that is being shown is still under way to Apollo.
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
