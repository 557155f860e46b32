/** The names of the organisations of jobs, in memory: joining them took a list of 100 jobs a quarter of its time in PostgreSQL. */
import { toTypedId } from "../core/ids.ts";
import type { Queryable } from "../core/postgres/database.ts";
import { sql } from "../core/postgres/sql.ts";
import { MINUTE_MS } from "../core/time.ts";
import type { JobRow } from "./row.sql.ts";

/** A name that an operator changes is read after this time. */
const TTL_MS = MINUTE_MS;
const MAX_NAMES = 10_000;

/** As REST returns it. */
export interface OrganizationWire {
  readonly id: string;
  readonly name: string | null;
}

/** By id (UUID), which no other database has. */
let memory = new Map<string, OrganizationWire>();
let expiresAtMs = 0;

export function rememberedOrganization(id: string): OrganizationWire | undefined {
  return memory.get(id);
}

/** Returns the rows, to which it adds the names. One statement reads those that are not in memory. */
export async function withOrganizationNames<Row extends JobRow>(
  queryable: Queryable,
  rows: Row[],
): Promise<Row[]> {
  if (performance.now() > expiresAtMs || memory.size > MAX_NAMES) {
    memory = new Map();
    expiresAtMs = performance.now() + TTL_MS;
  }
  const known = memory;
  const missing = new Set<string>();
  for (const { agent_id: agent, contractor_id: contractor } of rows) {
    if (!known.has(agent)) missing.add(agent);
    if (contractor !== null && !known.has(contractor)) missing.add(contractor);
  }
  if (missing.size > 0) {
    const found = await queryable.query<{ id: string; name: string }>(
      sql`select id, name from organization where id = any(${[...missing]}::uuid[])`,
    );
    for (const { id, name } of found) known.set(id, { id: toTypedId("org", id), name });
  }
  for (const row of rows) {
    row.agent_name = known.get(row.agent_id)?.name;
    row.contractor_name = row.contractor_id === null ? null : known.get(row.contractor_id)?.name;
  }
  return rows;
}
