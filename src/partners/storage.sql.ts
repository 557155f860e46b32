/** How much of the database an organisation uses. */
import type { Queryable } from "../core/postgres/database.ts";
import { join, raw, sql } from "../core/postgres/sql.ts";

/** Bytes in PostgreSQL, with indexes, by what they hold. An estimate from a sample of each table. */
export interface OrganizationStorage {
  /** Of an agent: jobs belong to their agent. */
  readonly jobs: number;
  readonly events: number;
  readonly deliveries: number;
  readonly requestLog: number;
  readonly auditLog: number;
}

/** A larger table is not read as a whole. */
const SAMPLED_PAGES = 2_000;

/** The first table is sampled; the others grow with it. */
const sources: Readonly<Record<keyof OrganizationStorage, { tables: readonly string[]; owner: string }>> = {
  jobs: { tables: ["job", "job_search"], owner: "part.agent_id" },
  events: { tables: ["job_event"], owner: "part.agent_id" },
  deliveries: {
    tables: ["webhook_delivery", "webhook_attempt"],
    owner: "(select organization_id from webhook_endpoint where id = part.endpoint_id)",
  },
  requestLog: { tables: ["request_log"], owner: "part.organization_id" },
  auditLog: { tables: ["audit_entry"], owner: "part.organization_id" },
};

/** Returns the storage of a live organisation (a UUID) and its test organisations, in one statement. */
export async function storageOf(database: Queryable, id: string): Promise<OrganizationStorage> {
  const parts = Object.entries(sources).map(([name, { tables, owner }]) => {
    const [sampled = ""] = tables;
    return raw(`'${name}', (
      select coalesce(sum(bytes) filter (where organization_id in (select id from partner)) / sum(bytes), 0)
      from (select ${owner} as organization_id, pg_column_size(part.*)::float8 as bytes
        from ${sampled} part tablesample system ((select least(100, ${SAMPLED_PAGES} * 100.0 / greatest(sum(relpages), 1))
          from pg_class where ${isPartOf([sampled])}))) sample
      ) * (select sum(pg_total_relation_size(oid))::float8 from pg_class where ${isPartOf(tables)})`);
  });
  const [row] = await database.query<{ storage: OrganizationStorage }>(sql`
    with partner as (select id from organization where id = ${id}::uuid or live_organization_id = ${id}::uuid)
    select json_build_object(${join(parts, ", ")}) as storage`);
  return (row as { storage: OrganizationStorage }).storage;
}

/** The tables themselves, or their partitions. */
function isPartOf(tables: readonly string[]): string {
  const parts = tables.map(
    (table) => `oid = '${table}'::regclass or oid in (select relid from pg_partition_tree('${table}'))`,
  );
  return `relkind = 'r' and (${parts.join(" or ")})`;
}
