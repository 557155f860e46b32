/** Creates the demo data: two agents, three contractors and 2,000 jobs with their histories. */
import { join } from "node:path";
import { z } from "zod";
import { type ApiKeyService, parsePrefix, scopes } from "../../api-keys/api.ts";
import { organizationNamesSql, rebuildCounters } from "../../jobs/api.ts";
import type { Organization, OrganizationService } from "../../organizations/api.ts";
import type { Database, Queryable } from "../../core/postgres/database.ts";
import { newUuid } from "../../core/ids.ts";
import { sql } from "../../core/postgres/sql.ts";
import { demoRows } from "./jobs.ts";
import { ensureDemoLogins, lockDemo, readEntries, writeEntries, type DemoLogins } from "./logins.ts";

export interface DemoKeys {
  agent: string;
  contractor: string;
  /** Test key of the agent. */
  test: string;
  /** Operator key: can read and write the jobs of both agents through GraphQL. */
  operator: string;
}

export interface Demo extends DemoKeys {
  logins: DemoLogins;
}

export interface DemoServices {
  database: Database;
  organizations: OrganizationService;
  keys: ApiKeyService;
  /** Folder that stores the demo's keys and passwords, because the database contains only their hashes. */
  dataDir: string;
}

const AGENTS = ["Northwind Agency", "Blue Harbour Agency"] as const;
const CONTRACTORS = ["Swift Couriers", "Greenline Delivery", "Metro Haulage"] as const;
const JOB_COUNT = 2_000;
/** Events per insert statement. */
const BATCH_SIZE = 2_000;

/**
 * Creates the demo in an empty database, and returns keys and logins of its first agent, its first contractor and an
 * operator. Returns null if the database contains other organisations instead.
 */
export async function ensureDemo(services: DemoServices): Promise<Demo | null> {
  await seed(services.database);
  const agent = await services.organizations.find(AGENTS[0]);
  const contractor = await services.organizations.find(CONTRACTORS[0]);

  if (!agent || !contractor) return null;
  const keys = await ensureKeys(services, { agent, contractor });
  const logins = await ensureDemoLogins(services, { agent: agent.id, contractor: contractor.id });
  return { ...keys, logins };
}

async function seed(database: Database): Promise<void> {
  const seeded = await database.transaction(async (tx) => {
    await lockDemo(tx);
    const [row] = await tx.query<{ empty: boolean }>(
      sql`select not exists (select from organization) as empty`,
    );
    if (!row?.empty) return false;
    await insertDemo(tx);
    return true;
  });
  if (seeded) await database.transaction(rebuildCounters);
}

async function insertDemo(tx: Queryable): Promise<void> {
  const agentIds = await insertOrganizations(tx, AGENTS, "agent");
  const contractorIds = await insertOrganizations(tx, CONTRACTORS, "contractor");
  const { jobs, events } = demoRows(JOB_COUNT, { agentIds, contractorIds, now: new Date() });
  await tx.query(
    sql`insert into job select * from jsonb_populate_recordset(null::job, ${JSON.stringify(jobs)}::jsonb)`,
  );
  for (let at = 0; at < events.length; at += BATCH_SIZE) {
    const rows = events.slice(at, at + BATCH_SIZE);
    await tx.query(sql`
      insert into job_event (id, type, job_id, agent_id, contractor_id, sequence, actor_type, actor_id, occurred_at, changes, job)
      select id, type, job_id, agent_id, contractor_id, sequence, actor_type, actor_id, occurred_at, changes,
        job || ${organizationNamesSql}
      from jsonb_populate_recordset(null::job_event, ${JSON.stringify(rows)}::jsonb)`);
  }
}

async function insertOrganizations(tx: Queryable, names: readonly string[], type: string): Promise<string[]> {
  const ids = names.map(() => newUuid());
  await tx.query(sql`insert into organization (id, name, type)
    select id, name, ${type} from unnest(${ids}::uuid[], ${names}::text[]) new_row (id, name)`);
  return ids;
}

/** Returns the keys stored in the data folder if they are usable, otherwise new ones. */
async function ensureKeys(
  { keys, dataDir }: DemoServices,
  organizations: { agent: Organization; contractor: Organization },
): Promise<DemoKeys> {
  const file = join(dataDir, "demo-keys.json");
  const stored = await readEntries(file, z.string());
  const keyOf = async (name: keyof DemoKeys, organizationId: string | null): Promise<string> => {
    const text = stored[name];
    const prefix = text === undefined ? null : parsePrefix(text);
    const key = prefix === null ? null : await keys.find(prefix);
    // The key of a deleted database does not exist.
    if (text !== undefined && key && !key.revokedAt) return text;
    const testSide = name === "test" ? "agent" : undefined;
    return (await keys.create({ organizationId, name: "Demo", scopes, createdBy: "demo", testSide })).text;
  };
  const issued = {
    agent: await keyOf("agent", organizations.agent.id),
    contractor: await keyOf("contractor", organizations.contractor.id),
    test: await keyOf("test", organizations.agent.id),
    operator: await keyOf("operator", null),
  };
  await writeEntries(file, issued);
  return issued;
}
