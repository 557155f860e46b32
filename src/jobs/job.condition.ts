/** Which jobs are asked for, as a tree of conditions, and that tree in SQL: every given part must hold. */
import { join, raw, sql, type Sql } from "../platform/sql.ts";
import type { statusCategories } from "./job.codes.entity.ts";
import { searchCondition } from "./job.filter.ts";

/** Null is as not given, so that a caller's empty variable asks for nothing. */
type Given<Value> = Value | null | undefined;

export type JobStatusCategory = (typeof statusCategories)[number];

export interface CodeCondition {
  eq?: Given<string>;
  in?: Given<readonly string[]>;
  isNull?: Given<boolean>;
}

export interface TextCondition extends CodeCondition {
  startsWith?: Given<string>;
}

export interface RangeCondition<Value> {
  eq?: Given<Value>;
  gte?: Given<Value>;
  gt?: Given<Value>;
  lte?: Given<Value>;
  lt?: Given<Value>;
  isNull?: Given<boolean>;
}

/** Days are `YYYY-MM-DD`, instants ISO 8601 in UTC (`Z`), ids uuids. */
export interface JobCondition {
  markingNumber?: Given<TextCondition>;
  batchNumber?: Given<TextCondition>;
  groupCode?: Given<TextCondition>;
  postalCode?: Given<TextCondition>;
  recipientName?: Given<TextCondition>;
  normalizedStatus?: Given<CodeCondition>;
  failureReason?: Given<CodeCondition>;
  providerStatus?: Given<CodeCondition>;
  scheduledDate?: Given<RangeCondition<string>>;
  scheduledDeliveryDate?: Given<RangeCondition<string>>;
  createdAt?: Given<RangeCondition<string>>;
  updatedAt?: Given<RangeCondition<string>>;
  pieceQuantity?: Given<RangeCondition<number>>;
  weight?: Given<RangeCondition<number>>;
  statusCategory?: Given<readonly JobStatusCategory[]>;
  scheduledDeliveryPending?: Given<boolean>;
  contractorId?: Given<readonly string[]>;
  agentId?: Given<readonly string[]>;
  /** Due before today (UTC), and neither delivered nor on its way back nor cancelled; false is the complement. */
  isLate?: Given<boolean>;
  /** The same as REST's `q`. */
  search?: Given<string>;
  and?: Given<readonly JobCondition[]>;
  or?: Given<readonly JobCondition[]>;
  not?: Given<JobCondition>;
}

type ValueKind = "text" | "date" | "instant" | "number";

/** The parts that compare a column with values. */
export const comparedColumns = {
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
  createdAt: { column: "created_at", kind: "instant" },
  updatedAt: { column: "updated_at", kind: "instant" },
  pieceQuantity: { column: "piece_quantity", kind: "number" },
  weight: { column: "weight", kind: "number" },
} as const satisfies Partial<Record<keyof JobCondition, { column: string; kind: ValueKind }>>;

export type ComparedPart = keyof typeof comparedColumns;
export const comparedParts = Object.keys(comparedColumns) as ComparedPart[];
export type Comparison = TextCondition & RangeCondition<string | number>;

export const comparisonOperators = { eq: "=", gte: ">=", gt: ">", lte: "<=", lt: "<" } as const;
export type ComparisonOperator = keyof typeof comparisonOperators;

const sqlTypes: Record<ValueKind, string> = {
  text: "text",
  date: "date",
  instant: "timestamptz",
  number: "double precision",
};

/** `condition` as SQL that speaks of `job`; true, false or null, which means that it does not hold. */
export function conditionSql(condition: JobCondition): Sql {
  return allOf([
    ...comparedParts.flatMap((part) => comparisonsOf(part, condition[part] as Given<Comparison>)),
    ...given(condition.statusCategory, ofCategory),
    ...given(condition.scheduledDeliveryPending, (value) => sql`job.scheduled_delivery_pending = ${value}`),
    ...given(condition.contractorId, (ids) => oneOf(raw("job.contractor_id"), "uuid", ids)),
    ...given(condition.agentId, (ids) => oneOf(raw("job.agent_id"), "uuid", ids)),
    ...given(condition.isLate, (value) => (value ? late : complement(late))),
    ...given(condition.search, searchCondition),
    ...given(condition.and, (all) => allOf(all.map(conditionSql))),
    ...given(condition.or, (any) => anyOf(any.map(conditionSql))),
    ...given(condition.not, (inner) => complement(conditionSql(inner))),
  ]);
}

/** The names of the parts that are given. */
export function partsOf(condition: JobCondition): (keyof JobCondition)[] {
  return (Object.keys(condition) as (keyof JobCondition)[]).filter(
    (part) => (condition[part] ?? null) !== null,
  );
}

/** The status that alone is asked for; null where nothing is, undefined where there are other conditions. */
export function statusAlone(condition: JobCondition): string | null | undefined {
  const parts = partsOf(condition);
  if (parts.length === 0) return null;
  const { eq, in: list, isNull } = condition.normalizedStatus ?? {};
  const others = (list ?? isNull ?? null) !== null || parts.length > 1;
  return others ? undefined : (eq ?? undefined);
}

function given<Value>(value: Given<Value>, condition: (value: Value) => Sql): Sql[] {
  return value === null || value === undefined ? [] : [condition(value)];
}

function comparisonsOf(part: ComparedPart, comparison: Given<Comparison>): Sql[] {
  if (!comparison) return [];
  const { column: name, kind } = comparedColumns[part];
  const column = raw(`job.${name}`);
  const type = sqlTypes[kind];
  const operators = Object.entries(comparisonOperators) as [ComparisonOperator, string][];
  return [
    ...operators.flatMap(([operator, symbol]) =>
      given(comparison[operator], (value) => sql`${column} ${raw(symbol)} ${value}::${raw(type)}`),
    ),
    ...given(comparison.in, (values) => oneOf(column, type, values)),
    ...given(comparison.startsWith, (prefix) => startsWith(part, column, prefix)),
    ...given(comparison.isNull, (isNull) => sql`${column} is ${raw(isNull ? "null" : "not null")}`),
  ];
}

/** One value stands for itself, so that an index which leads with the column still gives the order. */
function oneOf(column: Sql, type: string, values: readonly unknown[]): Sql {
  return values.length === 1
    ? sql`${column} = ${values[0]}::${raw(type)}`
    : sql`${column} = any(${values}::${raw(`${type}[]`)})`;
}

/** Marking Numbers are in code point order (collation "C"), so a range of their index holds those of a prefix. */
function startsWith(part: ComparedPart, column: Sql, prefix: string): Sql {
  if (part !== "markingNumber") return sql`starts_with(${column}, ${prefix}::text)`;
  const end = firstTextAfter(prefix);
  const from = sql`${column} >= ${prefix}::text`;
  return end === null ? from : sql`(${from} and ${column} < ${end}::text)`;
}

const LAST_CODE_POINT = 0x10_ff_ff;

/** The first text after all that begin with `prefix`, by code points; null where there is none. */
function firstTextAfter(prefix: string): string | null {
  const points = Array.from(prefix, (character) => character.codePointAt(0) as number);
  while (points.at(-1) === LAST_CODE_POINT) points.pop();
  const last = points.pop();
  if (last === undefined) return null;
  // Surrogates are no characters of their own.
  const next = last === 0xd7_ff ? 0xe0_00 : last + 1;
  return String.fromCodePoint(...points, next);
}

function ofCategory(categories: readonly JobStatusCategory[]): Sql {
  return sql`job.normalized_status = any(array(
    select code from job_status where category = any(${categories}::text[])))`;
}

const late = sql`(coalesce(job.scheduled_delivery_date, job.scheduled_date) < (now() at time zone 'UTC')::date
  and job.normalized_status <> all(array(
    select code from job_status where category in ('success', 'return', 'cancelled'))))`;

function complement(condition: Sql): Sql {
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
