/** Validates a job filter before it becomes SQL: its size, its values and its status codes. */
import { z } from "zod";
import { badRequest, type Problem, problemIn } from "../../core/errors.ts";
import { toProblems } from "../../core/zod-problems.ts";
import { MAX_LIST_ITEMS } from "../../operations/schemas.ts";
import { statusCategories } from "../reference-data.entity.ts";
import type { JobReferenceData } from "../reference-data.ts";
import { dateValue, numberValue, textValue } from "../values.ts";
import { filterableColumns, type FilterKey, type JobFilterTree, setKeys } from "./filter.sql.ts";
import { searchText } from "./search.ts";

/**
 * `maxValues`: compared values; a list counts as one, and so does an empty filter in `and`, `or` or `not`. `maxDepth`: nesting
 * levels of these.
 */
export const filterLimits = { maxValues: 20, maxDepth: 3, maxListItems: MAX_LIST_ITEMS } as const;
const { maxValues, maxDepth, maxListItems } = filterLimits;

const inQuery = problemIn("query");

function listOf(item: z.ZodType) {
  const error = `must have 1 to ${maxListItems} items`;
  return z.array(item).min(1, { error }).max(maxListItems, { error });
}

/** As long as the longest text column. */
const text = textValue(1000);
const valueSchemas = {
  text,
  date: dateValue,
  instant: z.iso
    .datetime({ error: "must be an instant in UTC, such as 2026-11-21T08:15:30.250Z" })
    .refine((instant) => !instant.startsWith("0000"), { error: "must be in the years 0001 to 9999" }),
  number: numberValue,
};
const id = z.guid({ error: "must be an id" });
const otherSchemas: Readonly<Record<string, z.ZodType>> = {
  statusCategory: listOf(z.enum(statusCategories, { error: "must be a category of statuses" })),
  contractorId: listOf(id),
  agentId: listOf(id),
  search: searchText,
};
const tooDeep = z.custom(() => false, {
  error: `must be nested at most ${maxDepth} deep`,
  params: { code: "too_big" },
});

/** Of the operators whose operand is not a value of the column. */
const operatorSchemas: Readonly<Record<string, z.ZodType>> = { in: listOf(text), isNull: z.boolean() };

/** A value of the filter that counts against `maxValues`. */
interface Condition {
  field: string;
  value: unknown;
  /** Absent: the type of the value is enough. */
  schema?: z.ZodType | undefined;
  /** Status codes that the value names. */
  statuses?: readonly string[];
}

/** Throws BadRequestException with every problem and its path, such as `filter.or.2.normalizedStatus.in`. */
export async function validateFilter(
  referenceData: Pick<JobReferenceData, "isKnownStatus">,
  filter: JobFilterTree,
): Promise<void> {
  const conditions = conditionsOf(filter, "filter", 0);
  if (conditions.length > maxValues)
    throw badRequest([inQuery("filter", "too_big", `must have at most ${maxValues} conditions in all`)]);
  const problems: Problem[] = [];
  const statuses: { code: string; field: string }[] = [];
  for (const { field, value, schema, statuses: codes = [] } of conditions) {
    const error = schema?.safeParse(value).error;
    const [problem] = error ? toProblems(error, "query") : [];
    if (problem) problems.push({ ...problem, field });
    else for (const code of new Set(codes)) statuses.push({ code, field });
  }
  const areKnown = await Promise.all(statuses.map(({ code }) => referenceData.isKnownStatus(code)));
  for (const [index, { code, field }] of statuses.entries())
    if (!areKnown[index])
      problems.push(inQuery(field, "unknown_status", `is not a known status (${JSON.stringify(code)})`));
  if (problems.length > 0) throw badRequest(problems);
}

function conditionsOf(filter: JobFilterTree, field: string, depth: number): Condition[] {
  if (depth > maxDepth) return [{ field, value: filter, schema: tooDeep }];
  const conditions = setKeys(filter).flatMap((key): Condition[] => {
    const path = `${field}.${key}`;
    if (key === "not") return conditionsOf(filter.not ?? {}, path, depth + 1);
    if (key === "and" || key === "or")
      return (filter[key] ?? []).flatMap((part, index) => conditionsOf(part, `${path}.${index}`, depth + 1));
    if (key in filterableColumns)
      return comparisonsOf(key as FilterKey, filter[key as FilterKey] ?? {}, path);
    return [{ field: path, value: filter[key], schema: otherSchemas[key] }];
  });
  return conditions.length === 0 && depth > 0 ? [{ field, value: filter }] : conditions;
}

function comparisonsOf(key: FilterKey, comparison: object, field: string): Condition[] {
  const valueSchema = valueSchemas[filterableColumns[key].kind];
  const compared = Object.entries(comparison).filter(([, value]) => value !== null && value !== undefined);
  return compared.map(([operator, value]: [string, unknown]) => ({
    field: `${field}.${operator}`,
    value,
    schema: operatorSchemas[operator] ?? valueSchema,
    ...(key === "normalizedStatus" && /^(eq|in)$/.test(operator) && { statuses: [value].flat() as string[] }),
  }));
}
