/** Hand-written GraphQL responses: one prepared statement per operation, and its result in Waymark's response format. */
import type { Pool } from "pg";
import { toTypedId } from "../../src/core/ids.ts";
import { toIsoTime } from "../../src/core/time.ts";
import { EVENTS, PAGE } from "./requests.ts";

/** The organisation of the request's API key, and the column by which it sees jobs. */
export interface TenantColumn {
  organizationId: string;
  column: "agent_id" | "contractor_id";
}

interface EventRow {
  id: string;
  type: string;
  sequence: number;
  occurred_at: string;
  actor_type: string;
  actor_id: string | null;
  changes: Record<string, { from: unknown; to: unknown }>;
}

interface DashboardRow extends Record<string, unknown> {
  agent_name: string;
  agent_type: string;
  contractor_name: string | null;
  contractor_type: string | null;
  events: EventRow[] | null;
}

const dashboardStatement = ({ column }: TenantColumn): { name: string; text: string } => ({
  name: `dashboard ${column}`,
  text: `select job.*, agent.name as agent_name, agent.type as agent_type,
      contractor.name as contractor_name, contractor.type as contractor_type, history.events
    from (select * from job where ${column} = $1 and normalized_status = $2
      order by created_at desc, id desc limit ${PAGE}) job
    join organization agent on agent.id = job.agent_id
    left join organization contractor on contractor.id = job.contractor_id
    cross join lateral (select json_agg(event) as events from (
      select id, type, sequence, occurred_at, actor_type, actor_id, changes from job_event
      where job_id = job.id order by sequence desc limit ${EVENTS}) event) history
    order by job.created_at desc, job.id desc`,
});

export async function queryDashboard(pool: Pool, tenant: TenantColumn, status: string): Promise<unknown[]> {
  const { rows } = await pool.query<DashboardRow>({
    ...dashboardStatement(tenant),
    values: [tenant.organizationId, status],
  });
  return rows.map(toJob);
}

function toJob(row: DashboardRow): unknown {
  return {
    ...toScalars(row),
    agent: {
      id: toTypedId("org", row["agent_id"] as string),
      name: row.agent_name,
      type: row.agent_type.toUpperCase(),
    },
    contractor: row.contractor_name && {
      id: toTypedId("org", row["contractor_id"] as string),
      name: row.contractor_name,
      type: row.contractor_type?.toUpperCase(),
    },
    history: { nodes: (row.events ?? []).map(toEvent) },
  };
}

function toScalars(row: Record<string, unknown>): Record<string, unknown> {
  return {
    id: toTypedId("job", row["id"] as string),
    markingNumber: row["marking_number"],
    batchNumber: row["batch_number"],
    groupCode: row["group_code"],
    pieceQuantity: row["piece_quantity"],
    labels: row["labels"],
    pts: row["pts"],
    weight: row["weight"],
    recipientName: row["recipient_name"],
    recipientContact: row["recipient_contact"],
    deliveryAddress: row["delivery_address"],
    postalCode: row["postal_code"],
    scheduledDate: row["scheduled_date"],
    instructions: row["instructions"],
    normalizedStatus: row["normalized_status"],
    failureReason: row["failure_reason"],
    scheduledDeliveryDate: row["scheduled_delivery_date"],
    scheduledDeliveryPending: row["scheduled_delivery_pending"],
    providerStatus: row["provider_status"],
    version: row["version"],
    createdAt: toIsoTime(row["created_at"] as string),
    updatedAt: toIsoTime(row["updated_at"] as string),
  };
}

const camelCases = new Map<string, string>();
function camelCase(name: string): string {
  let known = camelCases.get(name);
  if (known === undefined)
    camelCases.set(name, (known = name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())));
  return known;
}

function toEvent(event: EventRow): unknown {
  return {
    id: toTypedId("evt", event.id),
    type: event.type.replace(".", "_").toUpperCase(),
    sequence: event.sequence,
    occurredAt: toIsoTime(event.occurred_at),
    actor: {
      type: event.actor_type.toUpperCase(),
      id: event.actor_id && toTypedId("key", event.actor_id),
    },
    changes: Object.entries(event.changes).map(([field, { from, to }]) => ({
      field: camelCase(field),
      from,
      to,
    })),
  };
}

export async function queryOneJob(pool: Pool, tenant: TenantColumn, number: string): Promise<unknown> {
  const { rows } = await pool.query<Record<string, string | null>>({
    name: `one ${tenant.column}`,
    text: `select organization.name as own_name, organization.type as own_type, job.id, marking_number, normalized_status,
        recipient_name, scheduled_date, job.updated_at
      from organization left join job on marking_number = $2 and ${tenant.column} = organization.id where organization.id = $1`,
    values: [tenant.organizationId, number],
  });
  const [row] = rows;
  const id = row?.["id"];
  return {
    viewer: { kind: row?.["own_type"]?.toUpperCase(), organization: { name: row?.["own_name"] } },
    job: id && {
      id: toTypedId("job", id),
      markingNumber: row["marking_number"],
      normalizedStatus: row["normalized_status"],
      recipientName: row["recipient_name"],
      scheduledDate: row["scheduled_date"],
      updatedAt: toIsoTime(row["updated_at"] as string),
    },
  };
}

export async function queryStats(pool: Pool, tenant: TenantColumn): Promise<unknown> {
  const { rows } = await pool.query<{ value: string; label: string; counted: number }>({
    name: "stats",
    text: `select value, label, counted from (select value, sum(count)::int as counted from (
        select value, count from job_counter where organization_id = $1 and kind = 'status'
        union all select value, change from job_counter_delta where organization_id = $1 and kind = 'status'
      ) counts group by value having sum(count) <> 0) summed
      join job_status on code = value order by counted desc, value collate "C"`,
    values: [tenant.organizationId],
  });
  return {
    jobStats: {
      total: rows.reduce((sum, { counted }) => sum + counted, 0),
      groups: rows.map(({ value, label, counted }) => ({
        count: counted,
        keys: [{ key: "STATUS", value, label }],
      })),
    },
  };
}
