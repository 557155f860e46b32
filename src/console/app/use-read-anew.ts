/** Asks a query again, for something has changed. */
import { useCallback, useEffect, useState } from "react";

interface Asked {
  loading: boolean;
  refetch: () => Promise<unknown>;
}

/**
 * What is under way may have been read before the change, so it is waited for: the same question beside it would be given
 * its answer by Apollo, or have its own answer replaced by the older one.
 */
export function useReadAnew({ loading, refetch }: Asked): () => void {
  const [isWanted, setWanted] = useState(false);
  useEffect(() => {
    if (!isWanted || loading) return undefined;
    // An answer that is being shown is still under way to Apollo, until it has been.
    const timer = setTimeout(() => {
      setWanted(false);
      void refetch();
    });
    return () => clearTimeout(timer);
  }, [isWanted, loading, refetch]);
  return useCallback(() => setWanted(true), []);
}
