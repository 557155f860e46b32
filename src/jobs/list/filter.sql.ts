/** The job filter of REST, GraphQL and exports as a tree of conditions, and its translation to SQL. */
import { join, raw, sql, type Sql } from "../../core/postgres/sql.ts";
import type { statusCategories } from "../reference-data.entity.ts";
import type { Audience } from "../visibility.sql.ts";
import { searchSql } from "./search.sql.ts";

/** Null means the same as absent, so that clients can pass empty variables. */
type Nullish<Value> = Value | null | undefined;

export type JobStatusCategory = (typeof statusCategories)[number];

export interface TextComparison {
  eq?: Nullish<string>;
  in?: Nullish<readonly string[]>;
  startsWith?: Nullish<string>;
  isNull?: Nullish<boolean>;
}

export interface RangeComparison<Value> {
  eq?: Nullish<Value>;
  gte?: Nullish<Value>;
  gt?: Nullish<Value>;
  lte?: Nullish<Value>;
  lt?: Nullish<Value>;
  isNull?: Nullish<boolean>;
}

/** The comparison by the kind of a column. Dates are `YYYY-MM-DD`, instants ISO 8601. */
interface Comparisons {
  text: TextComparison;
  date: RangeComparison<string>;
  instant: RangeComparison<string>;
  number: RangeComparison<number>;
}

type ColumnComparisons = {
  [Key in FilterKey]?: Nullish<Comparisons[(typeof filterableColumns)[Key]["kind"]]>;
};

/** All conditions must hold. Ids are UUIDs. */
export interface JobFilterTree extends ColumnComparisons {
  statusCategory?: Nullish<readonly JobStatusCategory[]>;
  scheduledDeliveryPending?: Nullish<boolean>;
  contractorId?: Nullish<readonly string[]>;
  hasContractor?: Nullish<boolean>;
  agentId?: Nullish<readonly string[]>;
  /** True: late as `DUE_RULE` says. False: all other jobs. */
  isLate?: Nullish<boolean>;
  /** `searchRule` says what it finds. */
  search?: Nullish<string>;
  and?: Nullish<readonly JobFilterTree[]>;
  or?: Nullish<readonly JobFilterTree[]>;
  not?: Nullish<JobFilterTree>;
}

/** Why: `DUE_RULE`. */
export const dueDateSql = "coalesce(job.scheduled_delivery_date, job.scheduled_date)";

/** The filter keys that compare a column with values, or an expression that is no column. */
export const filterableColumns = {
  markingNumber: { column: "marking_number", kind: "text" },
  batchNumber: { column: "batch_number", kind: "text" },
  groupCode: { column: "group_code", kind: "text" },
  postalCode: { column: "postal_code", kind: "text" },
  recipientName: { column: "recipient_name", kind: "text" },
  normalizedStatus: { column: "normalized_status", kind: "text" },
  failureReason: { column: "failure_reason", kind: "text" },
  providerStatus: { column: "provider_status", kind: "text" },
  scheduledDate: { column: "scheduled_date", kind: "date" },
  scheduledDeliveryDate: { column: "scheduled_delivery_date", kind: "date" },
  dueDate: { column: "due_date", kind: "date", sql: dueDateSql },
  createdAt: { column: "created_at", kind: "instant" },
  updatedAt: { column: "updated_at", kind: "instant" },
  pieceQuantity: { column: "piece_quantity", kind: "number" },
  weight: { column: "weight", kind: "number" },
} as const satisfies Record<string, { column: string; kind: keyof Comparisons; sql?: string }>;

export type FilterKey = keyof typeof filterableColumns;
const filterKeys = Object.keys(filterableColumns) as FilterKey[];
type AnyComparison = TextComparison & RangeComparison<string | number>;

const comparisonOperators = { eq: "=", gte: ">=", gt: ">", lte: "<=", lt: "<" } as const;
type ComparisonOperator = keyof typeof comparisonOperators;

const sqlTypes: Record<keyof Comparisons, string> = {
  text: "text",
  date: "date",
  instant: "timestamptz",
  number: "double precision",
};

/**
 * The filter as an SQL condition on `job`. A null result means that the job does not match. With `audience`, a search uses the index
 * of the jobs that it can see; without, the condition reads only the row. `zone`: whose today decides what is late.
 */
export function filterToSql(
  filter: JobFilterTree,
  audience?: Audience,
  zone = audience?.timeZone ?? "UTC",
): Sql {
  const inner = (part: JobFilterTree): Sql => filterToSql(part, audience, zone);
  return allOf([
    ...filterKeys
      .filter((key) => filter[key])
      .flatMap((key) => comparisonsToSql(key, filter[key] as AnyComparison)),
    ...ifSet(filter.statusCategory, categorySql),
    ...ifSet(filter.scheduledDeliveryPending, (value) => sql`job.scheduled_delivery_pending = ${value}`),
    ...ifSet(filter.contractorId, (ids) => oneOf(raw("job.contractor_id"), "uuid", ids)),
    ...ifSet(filter.hasContractor, (isSet) => sql`job.contractor_id is ${raw(isSet ? "not null" : "null")}`),
    ...ifSet(filter.agentId, (ids) => oneOf(raw("job.agent_id"), "uuid", ids)),
    ...ifSet(filter.isLate, (value) => (value ? lateSql(zone) : isNotTrue(lateSql(zone)))),
    ...ifSet(filter.search, (text) => searchSql(text, audience)),
    ...ifSet(filter.and, (all) => allOf(all.map(inner))),
    ...ifSet(filter.or, (any) => anyOf(any.map(inner))),
    ...ifSet(filter.not, (part) => isNotTrue(inner(part))),
  ]);
}

export function setKeys(filter: JobFilterTree): (keyof JobFilterTree)[] {
  return (Object.keys(filter) as (keyof JobFilterTree)[]).filter((key) => (filter[key] ?? null) !== null);
}

/** True if the filter has no other conditions than on the status, which the counters hold. */
export function isStatusOnly(filter: JobFilterTree): boolean {
  return setKeys(filter).every((key) => key === "normalizedStatus" || key === "statusCategory");
}

/** A subquery `status` with the codes of several statuses that the filter allows; null if it allows one or all. */
export function statusScope({ normalizedStatus, statusCategory }: JobFilterTree): Sql | null {
  if (!normalizedStatus?.in && !statusCategory) return null;
  const condition = filterToSql({ normalizedStatus, statusCategory });
  return sql`(select normalized_status as code from (select code as normalized_status from job_status) job
    where ${condition}) status`;
}

function ifSet<Value>(value: Nullish<Value>, toSql: (value: Value) => Sql): Sql[] {
  return value === null || value === undefined ? [] : [toSql(value)];
}

const operators = Object.entries(comparisonOperators) as [ComparisonOperator, string][];

function comparisonsToSql(key: FilterKey, comparison: AnyComparison): Sql[] {
  const { column: name, kind, ...computed } = filterableColumns[key];
  const column = raw("sql" in computed ? computed.sql : `job.${name}`);
  const type = sqlTypes[kind];
  return [
    ...operators.flatMap(([operator, symbol]) =>
      ifSet(comparison[operator], (value) => sql`${column} ${raw(symbol)} ${value}::${raw(type)}`),
    ),
    ...ifSet(comparison.in, (values) => oneOf(column, type, values)),
    ...ifSet(comparison.startsWith, (prefix) => startsWith(key, column, prefix)),
    ...ifSet(comparison.isNull, (isNull) => sql`${column} is ${raw(isNull ? "null" : "not null")}`),
  ];
}

/** A single value becomes `=`, so that an index starting with the column can still provide the order. */
function oneOf(column: Sql, type: string, values: readonly unknown[]): Sql {
  return values.length === 1
    ? sql`${column} = ${values[0]}::${raw(type)}`
    : sql`${column} = any(${values}::${raw(`${type}[]`)})`;
}

/** Marking Numbers sort by code point (collation "C"), so a prefix is a range of their index. */
function startsWith(key: FilterKey, column: Sql, prefix: string): Sql {
  if (key !== "markingNumber") return sql`starts_with(${column}, ${prefix}::text)`;
  const end = prefixUpperBound(prefix);
  const from = sql`${column} >= ${prefix}::text`;
  return end === null ? from : sql`(${from} and ${column} < ${end}::text)`;
}

const LAST_CODE_POINT = 0x10_ff_ff;

/** The smallest text greater than every text that starts with `prefix`, by code point; null if there is none. */
function prefixUpperBound(prefix: string): string | null {
  const points = Array.from(prefix, (character) => character.codePointAt(0) as number);
  while (points.at(-1) === LAST_CODE_POINT) points.pop();
  const last = points.pop();
  if (last === undefined) return null;
  // Skip the surrogates, which are not characters.
  const next = last === 0xd7_ff ? 0xe0_00 : last + 1;
  return String.fromCodePoint(...points, next);
}

function categorySql(categories: readonly JobStatusCategory[]): Sql {
  return sql`job.normalized_status = any(array(
    select code from job_status where category = any(${categories}::text[])))`;
}

/** Today's date in a time zone. A subquery, because PostgreSQL computes it once and not for each row. */
export const todaySql = (zone: string): Sql => sql`(select (now() at time zone ${zone}::text)::date)`;

/** Why: `DUE_RULE`. */
export const lateSql = (zone: string): Sql => sql`(${raw(dueDateSql)} < ${todaySql(zone)}
  and job.normalized_status <> all(array(
    select code from job_status where category in ('success', 'return', 'cancelled'))))`;

function isNotTrue(condition: Sql): Sql {
  return sql`(${condition}) is not true`;
}

function allOf(conditions: readonly Sql[]): Sql {
  if (conditions.length === 0) return raw("true");
  return sql`(${join(conditions, " and ")})`;
}

function anyOf(conditions: readonly Sql[]): Sql {
  if (conditions.length === 0) return raw("false");
  return sql`(${join(conditions, " or ")})`;
}
