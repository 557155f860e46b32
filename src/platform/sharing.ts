/** One answer for all who ask at about the same time: however many they are, what they ask about is asked once. */

export interface SharingOptions {
  /** How long an answer is still good after it came. With 0 only those share it who ask while it is under way. */
  keptMs: number;
  nowMs?: () => number;
}

/** `ask`, asked once for all who ask meanwhile. A failure is theirs too, and is not kept. */
export function sharing<T>(
  ask: () => Promise<T>,
  { keptMs, nowMs = () => performance.now() }: SharingOptions,
): () => Promise<T> {
  let underWay: Promise<T> | null = null;
  let kept: { answer: T; untilMs: number } | null = null;

  const askAnew = async (): Promise<T> => {
    const answer = await ask();
    kept = { answer, untilMs: nowMs() + keptMs };
    return answer;
  };

  return () => {
    if (kept && nowMs() < kept.untilMs) return Promise.resolve(kept.answer);
    return (underWay ??= askAnew().finally(() => {
      underWay = null;
    }));
  };
}
