/** Runs the sides alternately. A side that fails or times out is excluded from the following rounds. */
import { rotate } from "./protocol.ts";

export interface RunOutcome<Result> {
  /** One result per round, by the side's name. */
  results: Map<string, Result[]>;
  /** Names of the excluded sides. */
  unfinished: Set<string>;
}

export interface AlternatingRunOptions<Side, Result> {
  rounds: number;
  /** Runs once for each side, before the first round. */
  warmUp: (side: Side) => Promise<unknown>;
  run: (side: Side) => Promise<Result>;
  /** True for the side that the others are compared with. If it fails, the whole run fails. */
  isReference: (side: Side) => boolean;
  /** Cleans up after an excluded side. */
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
