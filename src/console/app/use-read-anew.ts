/** Asks a query again, for something has changed. */
import { useCallback, useEffect, useState } from "react";

interface Asked {
  loading: boolean;
  refetch: () => Promise<{ error?: unknown }>;
}

const AGAIN_MS = 10_000;

/**
 * What is under way may have been read before the change, so it is waited for: the same question beside it would be given
 * its answer by Apollo, or have its own answer replaced by the older one. A question that fails is asked again, for the page
 * shows what it had.
 */
export function useReadAnew({ loading, refetch }: Asked): () => void {
  const [wish, setWish] = useState<{ afterMs: number } | null>(null);
  useEffect(() => {
    if (!wish || loading) return undefined;
    const read = async (): Promise<void> => {
      setWish(null);
      if (!(await isAnswered(refetch))) setWish((later) => later ?? { afterMs: AGAIN_MS });
    };
    // Never at once: an answer that is being shown is still under way to Apollo.
    const timer = setTimeout(() => void read(), wish.afterMs);
    return () => clearTimeout(timer);
  }, [wish, loading, refetch]);
  return useCallback(() => setWish({ afterMs: 0 }), []);
}

async function isAnswered(refetch: Asked["refetch"]): Promise<boolean> {
  try {
    const { error } = await refetch();
    return error === undefined;
  } catch {
    return false;
  }
}
