/** Updates a batch the usual way, for comparison: one transaction per item that locks, updates and inserts the event. */
import type pg from "pg";
import { FIELDS, type BatchUpdate, type BaselineCaller } from "./statements.ts";

type Row = Record<string, string | number | boolean | null>;

export async function updateInTransactions(
  pool: pg.Pool,
  caller: BaselineCaller,
  updates: readonly BatchUpdate[],
  requestId: string,
): Promise<Row[]> {
  const rows: Row[] = [];
  const client = await pool.connect();
  try {
    for (const update of updates)
      rows.push(...(await updateInTransaction(client, caller, update, requestId)));
  } finally {
    client.release();
  }
  return rows;
}

const statementNames = new Map<string, string>();

/** Names of prepared statements are limited to 63 bytes, so they are numbered. */
function statementName(fields: string): string {
  const name = statementNames.get(fields) ?? `set ${statementNames.size}`;
  statementNames.set(fields, name);
  return name;
}

async function updateInTransaction(
  client: pg.PoolClient,
  caller: BaselineCaller,
  { markingNumber, patch, eventId }: BatchUpdate,
  requestId: string,
): Promise<Row[]> {
  await client.query("begin");
  try {
    const rows = await updateLocked();
    await client.query("commit");
    return rows;
  } catch (error) {
    await client.query("rollback");
    throw error;
  }

  async function updateLocked(): Promise<Row[]> {
    const { rows: found } = await client.query<Row>({
      name: `find ${caller.column}`,
      text: `select * from job where marking_number = $1 and ${caller.column} = $2 for update`,
      values: [markingNumber, caller.organizationId],
    });
    const [old] = found;
    if (!old) return [];
    const names = Object.keys(patch).filter((name) => old[name] !== patch[name]);
    if (names.length === 0) return [old];
    const changes = Object.fromEntries(names.map((name) => [name, { from: old[name], to: patch[name] }]));
    const { rows } = await client.query<Row & { json: string }>({
      name: statementName(names.join()),
      text: `update job set ${names.map((name, at) => `${name} = $${at + 2}::${FIELDS.get(name)?.sql}`).join(", ")},
        version = version + 1, updated_at = now() where id = $1 returning *, to_jsonb(job)::text as json`,
      values: [old["id"], ...names.map((name) => patch[name])],
    });
    const [row] = rows;
    if (!row) return [];
    await client.query({
      name: "event",
      text: `insert into job_event (id, type, job_id, agent_id, contractor_id, sequence, actor_type, actor_id, request_id, changes, job)
        values ($1, $2, $3, $4, $5, $6, 'key', $7, $8, $9, $10)`,
      values: [
        eventId,
        "normalized_status" in changes ? "job.status_changed" : "job.updated",
        row["id"],
        row["agent_id"],
        row["contractor_id"],
        row["version"],
        caller.keyId,
        requestId,
        JSON.stringify(changes),
        row.json,
      ],
    });
    return [row];
  }
}
