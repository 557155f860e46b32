/** Checks before measuring that all sides return the same jobs with the same history. */
import { isDeepStrictEqual } from "node:util";
import type { LoadRequest } from "../load.ts";
import type { BenchServer } from "../servers.ts";

export interface ServerRequest {
  server: BenchServer;
  request: LoadRequest;
}

/** Throws if the responses differ in what `view` selects. */
export async function assertEqualData(
  requests: readonly ServerRequest[],
  view: (data: unknown) => unknown = (data) => data,
): Promise<void> {
  const answers = await Promise.all(
    requests.map(async (one) => ({ name: one.server.name, data: view(await fetchData(one)) })),
  );
  const [first, ...others] = answers;
  for (const other of others) {
    if (!isDeepStrictEqual(other.data, first?.data))
      throw new Error(`${first?.name} and ${other.name} differ: ${JSON.stringify([first, other], null, 1)}`);
  }
}

async function fetchData({ server, request: { method, path, key, body } }: ServerRequest): Promise<unknown> {
  const response = await fetch(server.url + path, {
    method,
    headers: { "content-type": "application/json", "x-api-key": key },
    body: body ?? null,
  });
  const answer = (await response.json()) as { data?: unknown; errors?: unknown };
  if (response.status !== 200 || answer.errors || !answer.data)
    throw new Error(`${server.name} answers ${response.status}: ${JSON.stringify(answer)}`);
  return answer.data;
}

interface Page {
  nodes: Record<string, unknown>[];
}

/** Converts a dashboard of Waymark or PostGraphile to one format, without ids, which the two encode differently. */
export function dashboardView(data: unknown): unknown {
  const { jobs, allJobs } = data as { jobs?: Page; allJobs?: Page };
  return (jobs ?? allJobs)?.nodes.map((job) => {
    const { nodes } = (job["history"] ?? job["jobEventsByJobId"]) as Page;
    return [
      job["markingNumber"],
      job["deliveryAddress"],
      job["version"],
      organizationName(job["agent"] ?? job["organizationByAgentId"]),
      organizationName(job["contractor"] ?? job["organizationByContractorId"]),
      nodes.map(({ sequence, changes }) => [sequence, Object.keys(changes as object).length]),
    ];
  });
}

function organizationName(organization: unknown): string | null {
  return (organization as { name: string } | null)?.name ?? null;
}
