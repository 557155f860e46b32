/** Throttles `callback`: a continuous stream of calls still runs it once per `intervalMs`. */
import { useCallback, useEffect, useRef } from "react";

export function useThrottled(callback: () => void, intervalMs: number): () => void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback(() => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      callback();
    }, intervalMs);
  }, [callback, intervalMs]);
}
