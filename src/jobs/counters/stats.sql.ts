/** Job statistics: the number of jobs, their pieces and their weight, in total and by group, in one statement. */
import type { Queryable } from "../../core/postgres/database.ts";
import { badRequest, type Problem } from "../../core/errors.ts";
import type { Principal } from "../../core/principal.ts";
import { join, raw, sql, type Sql } from "../../core/postgres/sql.ts";
import { filterToSql, setKeys, type JobFilterTree } from "../list/filter.sql.ts";
import { counterRowsSql } from "./counters.sql.ts";
import { visibleTo } from "../visibility.sql.ts";

interface GroupKeySource {
  value: string | ((zone: string) => Sql);
  category?: true;
  /** SQL expression for a group's label; default: the value. */
  label?: (key: string) => string;
  /** The counter that already holds these counts, if any. */
  counter?: "status" | "created_day";
}

const organizationName = (key: string): string => `(select name from organization where id = ${key})`;
const dayOf =
  (column: string) =>
  (zone: string): Sql =>
    sql`(${raw(`job.${column}`)} at time zone ${zone}::text)::date`;

const groupKeys = {
  STATUS: {
    value: "job.normalized_status",
    label: (key) => `(select label from job_status where code = ${key})`,
    counter: "status",
  },
  CATEGORY: { value: "job_status.category", category: true, counter: "status" },
  FAILURE_REASON: { value: "job.failure_reason" },
  SCHEDULED_DATE: { value: "job.scheduled_date" },
  CREATED_DAY: { value: dayOf("created_at"), counter: "created_day" },
  UPDATED_DAY: { value: dayOf("updated_at") },
  CONTRACTOR: { value: "job.contractor_id", label: organizationName },
  AGENT: { value: "job.agent_id", label: organizationName },
  BATCH: { value: "job.batch_number" },
  GROUP_CODE: { value: "job.group_code" },
  POSTAL_CODE: { value: "job.postal_code" },
} as const satisfies Record<string, GroupKeySource>;

export type GroupKey = keyof typeof groupKeys;
export const allGroupKeys = Object.keys(groupKeys) as GroupKey[];

export const MAX_GROUPS = 1_000;
const MAX_KEYS = 2;

export interface JobStatsQuery {
  filter: JobFilterTree;
  /** At most two different keys. */
  groupBy: readonly GroupKey[];
  /** The time zone of days; default: the principal's. */
  zone?: string;
  /** Without `groups` only the total is computed. Sums that are not included are null. */
  include: { groups: boolean; pieceQuantity: boolean; weight: boolean };
}

export interface JobStatsGroup {
  /** In the order of `groupBy`: codes (categories in lower case), days, UUIDs or text. */
  values: (string | null)[];
  /** Display text per value: a status's label, an organisation's name, otherwise the value. */
  labels: (string | null)[];
  count: number;
  pieceQuantity: number | null;
  /** Null without any weight, and for a sum above 1.8e308. */
  weight: number | null;
}

export interface JobStats {
  /** All matching jobs, including those of groups that were cut off. */
  total: number;
  /** Largest first, then by value with nulls last; at most MAX_GROUPS. Without keys: one group of all matching jobs. */
  groups: JobStatsGroup[];
  truncated: boolean;
}

/** `forCounters`: keeps the plan of a statement, because making it takes longer than reading the counters. */
export async function jobStats(
  queryable: Queryable,
  principal: Principal,
  query: JobStatsQuery,
  forCounters = queryable,
): Promise<JobStats> {
  const problem = groupKeyProblem(query.groupBy);
  if (problem) throw badRequest([{ location: "query", field: "groupBy", ...problem }]);
  const { groups: hasGroups } = query.include;
  const totalOnly = { groups: false, pieceQuantity: false, weight: false };
  const grouping = hasGroups ? query : { ...query, groupBy: [], include: totalOnly };
  const counted = groupCountersSql(principal, grouping);
  const statement = statsStatement(grouping, counted ?? groupJobsSql(principal, grouping));
  const reader = counted ? forCounters : queryable;
  const rows = await reader.query<JobStatsGroup & { total: number }>(statement);
  const total = rows[0]?.total ?? 0;
  const groups = rows.map(({ values, labels, count, pieceQuantity, weight }): JobStatsGroup => {
    return { values, labels, count, pieceQuantity, weight };
  });
  return { total, groups: hasGroups ? groups.slice(0, MAX_GROUPS) : [], truncated: rows.length > MAX_GROUPS };
}

/** Returns why the statistics can't be grouped by `keys`, or null. */
export function groupKeyProblem(keys: readonly GroupKey[]): Pick<Problem, "code" | "message"> | null {
  if (keys.length > MAX_KEYS) return { code: "too_big", message: `must have at most ${MAX_KEYS} keys` };
  if (new Set(keys).size < keys.length)
    return { code: "invalid_value", message: "must not contain the same key twice" };
  return null;
}

function statsStatement({ groupBy }: JobStatsQuery, grouped: Sql): Sql {
  const keys = groupBy.map((_, index) => `key${index}`);
  const ordering = ["count desc", ...keys.map((key) => `${key}::text collate "C" nulls last`)];
  const labels = groupBy.map((name, index) => {
    const { label }: GroupKeySource = groupKeys[name];
    return label ? label(`key${index}`) : `key${index}::text`;
  });
  return sql`
    with grouped as (${grouped}),
    largest as (
      select *, (sum(count) over ())::int as total from grouped
      order by ${raw(ordering.join(", "))} limit ${raw(String(MAX_GROUPS + 1))}
    )
    select array[${raw(keys.map((key) => `${key}::text`).join(", "))}]::text[] as values,
      array[${raw(labels.join(", "))}]::text[] as labels, count::int, "pieceQuantity", weight, total
    from largest order by ${raw(ordering.join(", "))}`;
}

function groupJobsSql(principal: Principal, query: JobStatsQuery): Sql {
  const { filter, groupBy, include } = query;
  const keys = groupBy.map((name): GroupKeySource => groupKeys[name]);
  const statuses = keys.some(({ category }) => category);
  return sql`
    select ${keyColumns(keys, zoneOf(principal, query))} count(*) as count,
      ${include.pieceQuantity ? raw("sum(job.piece_quantity)::double precision") : nullSum} as "pieceQuantity",
      ${include.weight ? weightSumSql : nullSum} as weight
    from job ${raw(statuses ? "left join job_status on job_status.code = job.normalized_status" : "")}
    where ${visibleTo(principal)} and ${filterToSql(filter, principal)} ${groupByClause(keys)}`;
}

/** The same groups from the counters; null if they do not hold them. They cover one organisation, one key and no filter. */
function groupCountersSql(principal: Principal, query: JobStatsQuery): Sql | null {
  const { filter, groupBy, include } = query;
  const zone = zoneOf(principal, query);
  const [name, ...others] = groupBy;
  const key: GroupKeySource | undefined = name && groupKeys[name];
  const kind = key ? key.counter : "status";
  const sums = include.pieceQuantity || include.weight;
  if (principal.organizationId === null || !kind || others.length > 0 || sums || setKeys(filter).length > 0)
    return null;
  // The counters hold the days of UTC.
  if (kind === "created_day" && zone !== "UTC") return null;
  const counterKey = key && !key.category ? { ...key, value: "counts.value" } : key;
  return sql`
    select ${keyColumns(counterKey ? [counterKey] : [], zone)} coalesce(sum(counted), 0) as count, ${nullSum} as "pieceQuantity", ${nullSum} as weight
    from (${counterRowsSql(principal.organizationId, kind)}) counts
    ${raw(key?.category ? "left join job_status on job_status.code = counts.value" : "")}
    ${groupByClause(counterKey ? [counterKey] : [])} ${raw(key ? "having sum(counted) <> 0" : "")}`;
}

const nullSum = raw("null::double precision");
/**
 * The decimal sum of the weights as JSON writes them: 0.1 and 0.2 are 0.3. Null also if it is no double, because partners can set
 * weights up to 1.8e308.
 */
const weightSumSql = raw(
  "case when abs(sum(job.weight::text::numeric)) <= 1.7976931348623158e308 then sum(job.weight::text::numeric)::double precision end",
);

function zoneOf({ timeZone }: Principal, { zone }: JobStatsQuery): string {
  return zone ?? timeZone ?? "UTC";
}

function keyColumns(keys: readonly GroupKeySource[], zone: string): Sql {
  return join(
    keys.map(({ value }, index) => {
      const expression = typeof value === "string" ? raw(value) : value(zone);
      return sql`${expression} as ${raw(`key${index}`)}, `;
    }),
    "",
  );
}

function groupByClause(keys: readonly GroupKeySource[]): Sql {
  return raw(keys.length === 0 ? "" : `group by ${keys.map((_, index) => index + 1).join(", ")}`);
}
