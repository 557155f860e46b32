/** Runs the sides alternately. A side that fails, or does not finish in time, is left out from then on and named. */
import { rotate } from "./protocol.ts";

export interface RunOutcome<Result> {
  /** By the side's name, round by round. */
  results: Map<string, Result[]>;
  /** The names of the sides that did not finish. */
  unfinished: Set<string>;
}

export interface AlternatingRunOptions<Side, Result> {
  rounds: number;
  /** Before the rounds, once for each side. */
  warmUp: (side: Side) => Promise<unknown>;
  run: (side: Side) => Promise<Result>;
  /** The others are compared with it: where it fails, so does the whole. */
  isReference: (side: Side) => boolean;
  /** Ends what a side that did not finish has left behind. */
  abandon: (side: Side) => Promise<void>;
  onProgress: (text: string) => void;
}

export async function runAlternating<Side extends { name: string }, Result>(
  sides: readonly Side[],
  { rounds, warmUp, run, isReference, abandon, onProgress }: AlternatingRunOptions<Side, Result>,
): Promise<RunOutcome<Result>> {
  const results = new Map(sides.map(({ name }): [string, Result[]] => [name, []]));
  const unfinished = new Set<string>();
  const attempt = async (side: Side, work: () => Promise<void>): Promise<void> => {
    if (unfinished.has(side.name)) return;
    try {
      await work();
    } catch (error) {
      if (isReference(side)) throw error;
      unfinished.add(side.name);
      onProgress(`${side.name} did not finish and is left out: ${(error as Error).message}`);
      await abandon(side);
    }
  };
  for (const side of sides) await attempt(side, async () => void (await warmUp(side)));
  for (let round = 0; round < rounds; round += 1)
    for (const side of rotate(sides, round))
      await attempt(side, async () => void results.get(side.name)?.push(await run(side)));
  return { results, unfinished };
}
