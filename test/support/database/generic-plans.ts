/** Plans of statements for any parameters, as the product runs them. */
import pg from "pg";
import type { TestContext } from "vitest";

export interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Index Cond"?: string;
  Alias?: string;
  Plans?: PlanNode[];
}

const MIN_VERSION = 160_000;

/** Returns all nodes of the generic plans. Skips the test if PostgreSQL can't show them. */
export async function nodesOfGenericPlans(
  context: TestContext,
  databaseUrl: string,
  { texts, settings = "" }: { texts: readonly string[]; settings?: string },
): Promise<PlanNode[]> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  try {
    const { rows: versions } = await client.query<{ version: number }>(
      "select current_setting('server_version_num')::int as version",
    );
    if ((versions[0]?.version ?? 0) < MIN_VERSION) context.skip("EXPLAIN (GENERIC_PLAN) needs PostgreSQL 16");
    await client.query(settings);
    const nodes: PlanNode[] = [];
    for (const text of texts) {
      const { rows } = await client.query<{ "QUERY PLAN": { Plan: PlanNode }[] }>(
        `explain (generic_plan, format json) ${text}`,
      );
      nodes.push(...rows.flatMap((row) => row["QUERY PLAN"]).flatMap(({ Plan }) => flat(Plan)));
    }
    return nodes;
  } finally {
    await client.end();
  }
}

const flat = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(flat)];
