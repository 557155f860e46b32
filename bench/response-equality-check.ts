/** Checks before measuring that both servers return the same data. */
import { isDeepStrictEqual } from "node:util";
import type { LoadRequest } from "./load.ts";
import type { BenchServer } from "./servers.ts";

/** Throws at the first list for which the two responses differ in status, items or total. */
export async function assertEqualResponses(
  servers: readonly BenchServer[],
  requests: readonly LoadRequest[],
): Promise<void> {
  for (const { path, key } of requests) {
    const answers = await Promise.all(servers.map((server) => fetchList(server, path, key)));
    if (!isDeepStrictEqual(answers[0], answers[1]))
      throw new Error(`The servers differ at ${path}: ${JSON.stringify(answers, null, 1)}`);
  }
}

async function fetchList({ url }: BenchServer, path: string, key: string): Promise<unknown> {
  const response = await fetch(url + path, { headers: { "x-api-key": key } });
  const { data } = (await response.json()) as { data: { items: unknown[]; pagination: { total: number } } };
  return { status: response.status, items: data.items, total: data.pagination.total };
}
