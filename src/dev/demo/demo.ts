/** Creates the demo data: two agents, three contractors and 2,000 jobs with their histories. */
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { createPasswordHasher, UserService } from "../../accounts/api.ts";
import { type ApiKeyService, parsePrefix, scopes } from "../../api-keys/api.ts";
import { organizationNamesSql, rebuildCounters } from "../../jobs/api.ts";
import type { OrganizationService } from "../../organizations/api.ts";
import type { Database, Queryable } from "../../core/postgres/database.ts";
import { newUuid } from "../../core/ids.ts";
import { sql } from "../../core/postgres/sql.ts";
import { demoRows } from "./jobs.ts";

const demoLogin = z.object({
  email: z.string(),
  /** Null if the password was changed or its file was lost. */
  password: z.string().nullable(),
});
type DemoLogin = z.infer<typeof demoLogin>;
type DemoRole = "agent" | "contractor" | "operator";

interface DemoKeys {
  agent: string;
  contractor: string;
  /** Test key of the agent. */
  test: string;
  /** Operator key: can read and write the jobs of both agents through GraphQL. */
  operator: string;
}

export interface Demo extends DemoKeys {
  logins: Record<DemoRole, DemoLogin>;
}

interface DemoServices {
  database: Database;
  organizations: OrganizationService;
  keys: ApiKeyService;
  /** Folder that stores the demo's keys and passwords, because the database contains only their hashes. */
  dataDir: string;
}

/** UUIDs; null for the operator. */
type OrganizationIds = Readonly<Record<DemoRole, string | null>>;

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
  await services.database.transaction(async (tx) => {
    await lockDemo(tx);
    const [row] = await tx.query<{ empty: boolean }>(
      sql`select not exists (select from organization) as empty`,
    );
    if (row?.empty) await insertDemo(tx);
  });
  const agent = await services.organizations.find(AGENTS[0]);
  const contractor = await services.organizations.find(CONTRACTORS[0]);
  if (!agent || !contractor) return null;
  const ids = { agent: agent.id, contractor: contractor.id, operator: null };
  return { ...(await ensureKeys(services, ids)), logins: await ensureLogins(services, ids) };
}

/** Waits while another process creates the demo, which can take longer than `lock_timeout`. Holds the lock until `tx` ends. */
async function lockDemo(tx: Queryable): Promise<void> {
  await tx.query(sql`
    select pg_advisory_xact_lock(hashtext('waymark.demo')) from set_config('lock_timeout', '0', true)`);
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
  await rebuildCounters(tx);
}

async function insertOrganizations(tx: Queryable, names: readonly string[], type: string): Promise<string[]> {
  const ids = names.map(() => newUuid());
  await tx.query(sql`insert into organization (id, name, type)
    select id, name, ${type} from unnest(${ids}::uuid[], ${names}::text[]) new_row (id, name)`);
  return ids;
}

/** Returns the keys stored in the data folder if they are usable, otherwise new ones. */
async function ensureKeys({ keys, dataDir }: DemoServices, ids: OrganizationIds): Promise<DemoKeys> {
  const file = join(dataDir, "demo-keys.json");
  const stored = await readEntries(file, z.string());
  const keyOf = async (name: keyof DemoKeys, organizationId: string | null): Promise<string> => {
    const storedText = stored[name] ?? "";
    const prefix = parsePrefix(storedText);
    const key = prefix === null ? null : await keys.find(prefix);
    // The key of a deleted database does not exist.
    if (key && !key.revokedAt) return storedText;
    const testSide = name === "test" ? "agent" : undefined;
    return (await keys.create({ organizationId, name: "Demo", scopes, createdBy: "demo", testSide })).text;
  };
  const issued = {
    agent: await keyOf("agent", ids.agent),
    contractor: await keyOf("contractor", ids.contractor),
    test: await keyOf("test", ids.agent),
    operator: await keyOf("operator", null),
  };
  await writeEntries(file, issued);
  return issued;
}

/** Creates missing users, and returns the logins of all three. */
async function ensureLogins(
  { database, dataDir }: DemoServices,
  ids: OrganizationIds,
): Promise<Demo["logins"]> {
  const users = new UserService({ database, hasher: createPasswordHasher(() => undefined) });
  const file = join(dataDir, "demo-logins.json");
  return await database.transaction(async (tx) => {
    await lockDemo(tx);
    const stored = await readEntries(file, demoLogin);
    const loginOf = async (name: DemoRole): Promise<DemoLogin> => {
      const email = `${name}@waymark.example`;
      const [user] = await tx.query<{ id: string }>(sql`select id from user_account where email = ${email}`);
      if (user) {
        const password = stored[name]?.password ?? "";
        const isCurrent = await users.verifyPasswordHash(tx, user.id, password);
        return { email, password: isCurrent ? password : null };
      }
      const password = randomBytes(12).toString("base64url");
      const role = name === "operator" ? "operator" : "owner";
      const organizationId = ids[name];
      await users.createUser(tx, { name: `Demo ${name}`, role, organizationId, email, password });
      return { email, password };
    };
    const logins = {
      agent: await loginOf("agent"),
      contractor: await loginOf("contractor"),
      operator: await loginOf("operator"),
    };
    await writeEntries(file, logins);
    return logins;
  });
}

/** Returns the entries of `file`; an empty object if it is missing or damaged. */
async function readEntries<Entry>(
  file: string,
  entry: z.ZodType<Entry>,
): Promise<Partial<Record<string, Entry>>> {
  const stored = await readFile(file, "utf8")
    .then((text): unknown => JSON.parse(text))
    .catch(() => null);
  return z.record(z.string(), entry).catch({}).parse(stored);
}

/** Overwrites the file; mode 0600 for a new file. */
async function writeEntries(file: string, entries: object): Promise<void> {
  await writeFile(file, `${JSON.stringify(entries, null, 2)}\n`, { mode: 0o600 });
}
