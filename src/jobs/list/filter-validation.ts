/** Validates a job filter before it becomes SQL: its size, its values and its status codes. */
import { z } from "zod";
import { badRequest, type Problem } from "../../core/errors.ts";
import { MAX_LIST_ITEMS } from "../../operations/schemas.ts";
import { statusCategories } from "../reference-data.entity.ts";
import type { JobReferenceData } from "../reference-data.ts";
import {
  filterableColumns,
  filterKeys,
  comparisonOperators,
  type FilterKey,
  type AnyComparison,
  type ComparisonOperator,
  type JobFilterTree,
} from "./filter.sql.ts";
import { dateValue, numberValue, textValue } from "../values.ts";
import { searchText } from "./search.ts";

/**
 * `maxValues`: compared values; a list counts as one, and so does an empty filter in `and`, `or` or `not`. `maxDepth`: nesting
 * levels of these.
 */
export const filterLimits = { maxValues: 20, maxDepth: 3, maxListItems: MAX_LIST_ITEMS } as const;
const { maxValues, maxDepth, maxListItems } = filterLimits;

/** As long as the longest text column. */
const text = textValue(1000);
const valueSchemas = {
  text,
  date: dateValue,
  instant: z.iso
    .datetime({ error: "must be an instant in UTC, such as 2026-11-21T08:15:30.250Z" })
    .refine((instant) => !instant.startsWith("0000"), { error: "must be in the years 0001 to 9999" }),
  number: numberValue,
  id: z.guid({ error: "must be an id" }),
  category: z.enum(statusCategories, { error: "must be a category of statuses" }),
  search: searchText,
};

/** Throws BadRequestException with every problem and its path, such as `filter.or.2.normalizedStatus.in`. */
export async function validateFilter(
  referenceData: Pick<JobReferenceData, "isKnownStatus">,
  filter: JobFilterTree,
): Promise<void> {
  const validator = new FilterValidator();
  validator.visit(filter, "filter", 0);
  if (validator.valueCount > maxValues)
    throw badRequest([problem("filter", "too_big", `must have at most ${maxValues} conditions in all`)]);
  const unknown = await Promise.all(
    validator.statuses.map(async ({ code, field }) =>
      (await referenceData.isKnownStatus(code)) ? [] : [unknownStatus(code, field)],
    ),
  );
  const problems = [...validator.problems, ...unknown.flat()];
  if (problems.length > 0) throw badRequest(problems);
}

class FilterValidator {
  readonly problems: Problem[] = [];
  readonly statuses: { code: string; field: string }[] = [];
  valueCount = 0;

  /** Stops at the limits, which bounds the work for any filter. */
  visit(filter: JobFilterTree, path: string, depth: number): void {
    if (depth > maxDepth) {
      this.#addProblem(path, "too_big", `must be nested at most ${maxDepth} deep`);
      return;
    }
    const before = this.valueCount;
    for (const key of filterKeys)
      this.#checkComparison(key, filter[key] as AnyComparison | null, `${path}.${key}`);
    this.#checkList(valueSchemas.category, filter.statusCategory, `${path}.statusCategory`);
    this.#checkList(valueSchemas.id, filter.contractorId, `${path}.contractorId`);
    this.#checkValue(z.boolean(), filter.hasContractor, `${path}.hasContractor`);
    this.#checkList(valueSchemas.id, filter.agentId, `${path}.agentId`);
    this.#checkValue(valueSchemas.search, filter.search, `${path}.search`);
    this.#checkValue(z.boolean(), filter.isLate, `${path}.isLate`);
    this.#checkValue(z.boolean(), filter.scheduledDeliveryPending, `${path}.scheduledDeliveryPending`);
    this.#visitAll(filter.and, `${path}.and`, depth + 1);
    this.#visitAll(filter.or, `${path}.or`, depth + 1);
    if (filter.not) this.visit(filter.not, `${path}.not`, depth + 1);
    if (this.valueCount === before && depth > 0) this.valueCount += 1;
  }

  #visitAll(filters: readonly JobFilterTree[] | null | undefined, path: string, depth: number): void {
    if (!filters) return;
    for (const [index, filter] of filters.entries()) {
      if (this.valueCount > maxValues) return;
      this.visit(filter, `${path}.${index}`, depth);
    }
  }

  #checkComparison(key: FilterKey, comparison: AnyComparison | null | undefined, path: string): void {
    if (!comparison) return;
    const value = valueSchemas[filterableColumns[key].kind];
    for (const operator of Object.keys(comparisonOperators) as ComparisonOperator[]) {
      this.#checkValue(value, comparison[operator], `${path}.${operator}`);
    }
    this.#checkList(text, comparison.in, `${path}.in`);
    this.#checkValue(text, comparison.startsWith, `${path}.startsWith`);
    this.#checkValue(z.boolean(), comparison.isNull, `${path}.isNull`);
    if (key === "normalizedStatus") this.#collectStatuses(comparison, path);
  }

  /** Collects status codes to look up, except from lists that already have a problem. */
  #collectStatuses({ eq, in: list }: AnyComparison, path: string): void {
    const codesByOperator = { eq: typeof eq === "string" ? [eq] : [], in: list ?? [] };
    for (const [operator, codes] of Object.entries(codesByOperator)) {
      const field = `${path}.${operator}`;
      if (this.problems.some((existing) => existing.field === field)) continue;
      for (const code of new Set(codes)) this.statuses.push({ code, field });
    }
  }

  #checkList(schema: z.ZodType, values: readonly unknown[] | null | undefined, path: string): void {
    if (!values) return;
    this.valueCount += 1;
    if (values.length === 0 || values.length > maxListItems)
      return this.#addProblem(
        path,
        values.length === 0 ? "too_small" : "too_big",
        `must have 1 to ${maxListItems} items`,
      );
    const invalid = values.findIndex((value) => !schema.safeParse(value).success);
    if (invalid >= 0) this.#validate(schema, values[invalid], path);
  }

  #checkValue(schema: z.ZodType, value: unknown, path: string): void {
    if (value === null || value === undefined) return;
    this.valueCount += 1;
    this.#validate(schema, value, path);
  }

  #validate(schema: z.ZodType, value: unknown, path: string): void {
    const [issue] = schema.safeParse(value).error?.issues ?? [];
    if (issue) this.#addProblem(path, issue.code === "custom" ? "invalid_value" : issue.code, issue.message);
  }

  #addProblem(field: string, code: string, message: string): void {
    this.problems.push(problem(field, code, message));
  }
}

function problem(field: string, code: string, message: string): Problem {
  return { location: "query", field, code, message };
}

function unknownStatus(code: string, field: string): Problem {
  return problem(field, "unknown_status", `is not a known status (${JSON.stringify(code)})`);
}
