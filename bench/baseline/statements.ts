/** Hand-written statements of the baseline, each prepared once per connection. */
import type { QueryConfig } from "pg";
import { newUuid } from "../../src/core/ids.ts";

export interface BaselineCaller {
  keyId: string;
  organizationId: string;
  column: "agent_id" | "contractor_id";
  typedKeyId: string;
  typedOrganizationId: string;
}

export interface ListRequest {
  limit: number;
  offset: number;
  /** Values for marking_number, batch_number and normalized_status. */
  equalTo: (string | null)[];
  /** Bounds: updated_at from and to, scheduled_date from and to. */
  range: readonly (string | null)[];
}

export interface BatchUpdate {
  markingNumber: string;
  patch: Record<string, unknown>;
  eventId: string;
}

interface Field {
  type: "string" | "number" | "boolean";
  max: number;
  day: boolean;
  sql: string;
}

const text = (max: number): Field => ({ type: "string", max, day: false, sql: "text" });
const plain = (type: Field["type"], sql: string): Field => ({ type, max: 0, day: false, sql });
const day: Field = { type: "string", max: 10, day: true, sql: "date" };

export const FIELDS = new Map<string, Field>(
  Object.entries({
    batch_number: text(120),
    group_code: text(120),
    piece_quantity: plain("number", "int"),
    labels: text(255),
    pts: plain("number", "float8"),
    weight: plain("number", "float8"),
    recipient_name: text(255),
    recipient_contact: text(255),
    delivery_address: text(1000),
    postal_code: text(60),
    scheduled_date: day,
    instructions: text(1000),
    normalized_status: text(64),
    failure_reason: text(64),
    scheduled_delivery_date: day,
    scheduled_delivery_pending: plain("boolean", "boolean"),
  }),
);

export const NO_RANGE: readonly null[] = [];
const DEEP_OFFSET = 200;

export const columnOf = (type: "agent" | "contractor"): BaselineCaller["column"] => `${type}_id`;
/** The names of the organisations of a row. */
export const organizationNames = (table: string): string => `
  (select name from organization where id = ${table}.agent_id) as agent_name,
  (select name from organization where id = ${table}.contractor_id) as contractor_name`;
const jobColumns = [
  "id",
  "marking_number",
  ...FIELDS.keys(),
  "provider_status",
  "version",
  "created_at",
  "updated_at",
  "agent_id",
  "contractor_id",
]
  .map((name) => `job.${name}`)
  .join(", ");
const columns = (table: string): string =>
  `${jobColumns.replaceAll("job.", `${table}.`)}, ${organizationNames(table)}`;
/** Joins the names to the rows of a page. */
const withNames = (page: string): string => `
  select job.*, agent.name as agent_name, contractor.name as contractor_name from (${page}) job
    left join organization agent on agent.id = job.agent_id left join organization contractor on contractor.id = job.contractor_id
  ${ORDER}`;

const names = new Map<string, string>();
/** Names the statement, so that each connection prepares it once. */
export function prepared(statement: string, values: unknown[]): QueryConfig {
  let name = names.get(statement);
  if (name === undefined) names.set(statement, (name = `b${names.size}`));
  return { name, text: statement, values };
}

const EQUAL_COLUMNS = ["marking_number", "batch_number", "normalized_status"];
const RANGE_CONDITIONS = [
  (at: number) => `updated_at >= $${at}::date::timestamp at time zone 'UTC'`,
  (at: number) => `updated_at < ($${at}::date + 1)::timestamp at time zone 'UTC'`,
  (at: number) => `scheduled_date >= $${at}::date`,
  (at: number) => `scheduled_date <= $${at}::date`,
];
const ORDER = "order by job.created_at desc, job.id desc";

/**
 * Returns one statement per page, with the total. Deep pages and date ranges select ids first; the total comes from the
 * counters if there is no other filter than the status.
 */
export function listStatement(
  { organizationId, column }: BaselineCaller,
  { limit, offset, equalTo, range }: ListRequest,
): QueryConfig {
  const values: unknown[] = [organizationId];
  let where = `${column} = $1`;
  for (const [at, value] of equalTo.entries())
    if (value !== null) where += ` and ${EQUAL_COLUMNS[at]} = $${values.push(value)}`;
  for (const [at, value] of range.entries())
    if (value !== null) where += ` and ${RANGE_CONDITIONS[at]?.(values.push(value))}`;
  const counted = equalTo[0] === null && equalTo[1] === null;
  const status = `and kind = 'status' ${equalTo[2] === null ? "" : "and value = $2"}`;
  const total = counted
    ? `(select coalesce(sum(n), 0)::int from (select count as n from job_counter where organization_id = $1 ${status}
        union all select change from job_counter_delta where organization_id = $1 ${status}) counts)`
    : `(select count(*)::int from job where ${where})`;
  const place = `limit $${values.push(limit)} offset $${values.push(offset)}`;
  if (range.length > 0) {
    return prepared(
      withNames(`with matching as materialized (select id, created_at from job where ${where}),
      page as (select id from matching job ${ORDER} ${place})
      select ${jobColumns}, (select count(*)::int from matching) as total from page join job using (id)`),
      values,
    );
  }
  if (offset >= DEEP_OFFSET) {
    return prepared(
      withNames(`select ${jobColumns}, ${total} as total from (select id from job where ${where} ${ORDER} ${place}) page
      join job using (id)`),
      values,
    );
  }
  return prepared(
    withNames(`select ${jobColumns}, ${total} as total from job where ${where} ${ORDER} ${place}`),
    values,
  );
}

const countStatusChanges = (
  from: string,
): string => `insert into job_counter_delta (organization_id, kind, value, change)
  select organization_id, 'status', status, sum(change)::int from ${from},
    lateral (values (agent_id, old_status, -1), (agent_id, normalized_status, 1),
      (contractor_id, old_status, -1), (contractor_id, normalized_status, 1)) part (organization_id, status, change)
  where old_status <> normalized_status and organization_id is not null
  group by 1, 3 having sum(change) <> 0`;

const INSERT_EVENT =
  "insert into job_event (id, type, job_id, agent_id, contractor_id, sequence, actor_type, actor_id, request_id, changes, job)";
const EVENT_JOB = `json || jsonb_build_object(
  'agent_name', (select name from organization where id = agent_id),
  'contractor_name', (select name from organization where id = contractor_id))`;
const EVENT_TYPE = "case when changes ? 'normalized_status' then 'job.status_changed' else 'job.updated' end";

/** Updates one job. Each set of patched fields has its own statement. */
export function patchStatement(
  caller: BaselineCaller,
  markingNumber: string,
  patch: Record<string, unknown>,
  requestId: string,
): QueryConfig {
  const given = Object.keys(patch);
  const at = (place: number): string => `$${place + 6}::${FIELDS.get(given[place] as string)?.sql}`;
  const changes = given.map(
    (name, place) => `case when old.${name} is distinct from ${at(place)}
      then jsonb_build_object('${name}', jsonb_build_object('from', old.${name}, 'to', ${at(place)})) else '{}' end`,
  );
  const old = [...new Set(["normalized_status", ...given])];
  return prepared(
    `with old as materialized (
      select id, ${old.join(", ")} from job where marking_number = $1 and ${caller.column} = $2 for update
    ), different as materialized (
      select id, normalized_status as old_status, ${changes.join(" || ")} as changes from old
    ), updated as (
      update job set ${given.map((name, place) => `${name} = ${at(place)}`).join(", ")}, version = version + 1, updated_at = now()
      from different where job.id = different.id and changes <> '{}'
      returning job.*, to_jsonb(job) as json, old_status, changes
    ), recorded as (
      ${INSERT_EVENT} select $3::uuid, ${EVENT_TYPE}, id, agent_id, contractor_id, version, 'key', $4::uuid, $5, changes, ${EVENT_JOB} from updated
    ), counted as (${countStatusChanges("updated")})
    select ${columns("updated")} from updated
    union all select ${columns("job")} from different join job using (id) where changes = '{}'`,
    [
      markingNumber,
      caller.organizationId,
      newUuid(),
      caller.keyId,
      requestId,
      ...given.map((name) => patch[name]),
    ],
  );
}

/** Updates up to 100 jobs in one statement, with the patches as jsonb. */
export function batchStatement(
  caller: BaselineCaller,
  updates: readonly BatchUpdate[],
  requestId: string,
): QueryConfig {
  const fields = [...FIELDS.keys()];
  return prepared(
    `with input as materialized (
      select * from unnest($1::text[], $2::jsonb[], $3::uuid[]) as input (marking_number, patch, event_id)
    ), old as materialized (
      select job as row, job.id, job.normalized_status as old_status, patch, event_id
      from input join job using (marking_number) where ${caller.column} = $4 order by job.id for update of job
    ), different as materialized (
      select old.id, old_status, event_id, ${fields.map((name) => `new.${name}`).join(", ")}, changes
      from old, jsonb_populate_record(old.row, patch) new,
        lateral (select jsonb_object_agg(key, jsonb_build_object('from', before -> key, 'to', value)) as changes
          from to_jsonb(old.row) before, jsonb_each(patch) each where before -> key is distinct from value) diff
    ), updated as (
      update job set ${fields.map((name) => `${name} = different.${name}`).join(", ")}, version = version + 1, updated_at = now()
      from different where job.id = different.id and changes is not null
      returning job.*, to_jsonb(job) as json, old_status, event_id, changes
    ), recorded as (
      ${INSERT_EVENT} select event_id, ${EVENT_TYPE}, id, agent_id, contractor_id, version, 'key', $5::uuid, $6, changes, ${EVENT_JOB} from updated
    ), counted as (${countStatusChanges("updated")})
    select ${columns("updated")} from updated
    union all select ${columns("job")} from different join job using (id) where changes is null`,
    [
      updates.map(({ markingNumber }) => markingNumber),
      updates.map(({ patch }) => JSON.stringify(patch)),
      updates.map(({ eventId }) => eventId),
      caller.organizationId,
      caller.keyId,
      requestId,
    ],
  );
}
