/** Updates a batch the usual way, for comparison: one transaction per item that locks, updates and inserts the event. */
import type pg from "pg";
import { FIELDS, prepared, type BatchUpdate, type BaselineCaller, organizationNames } from "./statements.ts";
import type { Row } from "./validation.ts";

/** If an item fails, its connection is closed, which rolls its transaction back. */
export async function updateInTransactions(
  pool: pg.Pool,
  caller: BaselineCaller,
  updates: readonly BatchUpdate[],
  requestId: string,
): Promise<Row[]> {
  const rows: Row[] = [];
  const client = await pool.connect();
  let isDone = false;
  try {
    for (const update of updates) {
      await client.query("begin");
      rows.push(...(await updateLocked(client, caller, update, requestId)));
      await client.query("commit");
    }
    isDone = true;
  } finally {
    client.release(!isDone);
  }
  return rows;
}

async function updateLocked(
  client: pg.PoolClient,
  caller: BaselineCaller,
  { markingNumber, patch, eventId }: BatchUpdate,
  requestId: string,
): Promise<Row[]> {
  const find = `select *, ${organizationNames("job")} from job where marking_number = $1 and ${caller.column} = $2 for update`;
  const { rows: found } = await client.query<Row>(prepared(find, [markingNumber, caller.organizationId]));
  const [old] = found;
  if (!old) return [];
  const names = Object.keys(patch).filter((name) => old[name] !== patch[name]);
  if (names.length === 0) return [old];
  const set = names.map((name, at) => `${name} = $${at + 2}::${FIELDS.get(name)?.sql}`).join(", ");
  const { rows } = await client.query<Row & { json: string }>(
    prepared(
      `update job set ${set}, version = version + 1, updated_at = now() where id = $1
       returning *, to_jsonb(job)::text as json, ${organizationNames("job")}`,
      [old["id"], ...names.map((name) => patch[name])],
    ),
  );
  const [row] = rows;
  if (!row) return [];
  const changes = Object.fromEntries(names.map((name) => [name, { from: old[name], to: patch[name] }]));
  await client.query(
    prepared(
      `insert into job_event (id, type, job_id, agent_id, contractor_id, sequence, actor_type, actor_id, request_id, changes, job)
       values ($1, $2, $3, $4, $5, $6, 'key', $7, $8, $9, $10)`,
      [
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
    ),
  );
  return [row];
}
