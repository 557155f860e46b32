/** One answer for all who ask at about the same time: however many they are, what they ask about is asked once. */

export interface SingleFlightOptions {
  /** How long an answer is still good after it came. With 0 only those share it who ask while it is under way. */
  ttlMs: number;
  nowMs?: () => number;
}

/** `ask`, asked once for all who ask meanwhile. A failure is theirs too, and is not kept. */
export function singleFlight<T>(
  load: () => Promise<T>,
  { ttlMs, nowMs = () => performance.now() }: SingleFlightOptions,
): () => Promise<T> {
  let inFlight: Promise<T> | null = null;
  let cached: { answer: T; untilMs: number } | null = null;

  const refresh = async (): Promise<T> => {
    const answer = await load();
    cached = { answer, untilMs: nowMs() + ttlMs };
    return answer;
  };

  return () => {
    if (cached && nowMs() < cached.untilMs) return Promise.resolve(cached.answer);
    return (inFlight ??= refresh().finally(() => {
      inFlight = null;
    }));
  };
}
