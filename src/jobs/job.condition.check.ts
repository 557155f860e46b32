/** Whether a caller's tree of conditions may go to PostgreSQL: its size, its values, its status codes. */
import { z } from "zod";
import { badRequest, type Problem } from "../platform/errors.ts";
import { statusCategories } from "./job.codes.entity.ts";
import type { JobCodes } from "./job.codes.ts";
import {
  comparedColumns,
  comparedParts,
  comparisonOperators,
  type ComparedPart,
  type Comparison,
  type ComparisonOperator,
  type JobCondition,
} from "./job.condition.ts";
import { dateValue, numberValue, textValue } from "./job.values.ts";

export interface ConditionLimits {
  /** Values that something is compared with, lists counting one; an empty condition of `and`, `or` and `not` is one too. */
  parts: number;
  /** Levels of `and`, `or` and `not`. */
  depth: number;
  /** Items of a list. */
  list: number;
}

export const conditionLimits: ConditionLimits = { parts: 20, depth: 3, list: 100 };

/** No column holds longer text. */
const text = textValue(1000);
const valueOf = {
  text,
  date: dateValue,
  instant: z.iso
    .datetime({ error: "must be an instant in UTC, such as 2026-11-21T08:15:30.250Z" })
    .refine((instant) => !instant.startsWith("0000"), { error: "must be in the years 0001 to 9999" }),
  number: numberValue,
  id: z.guid({ error: "must be an id" }),
  category: z.enum(statusCategories, { error: "must be a category of statuses" }),
  // As long as REST's `q`: each row is looked through for it.
  search: textValue(255),
};

/** Throws BadRequestException with what is wrong, each problem at its path (`filter.or.2.normalizedStatus.in`). */
export async function checkCondition(
  codes: Pick<JobCodes, "isKnownStatus">,
  condition: JobCondition,
  limits: ConditionLimits = conditionLimits,
  path = "filter",
): Promise<void> {
  const check = new ConditionCheck(limits);
  check.condition(condition, path, 0);
  if (check.parts > limits.parts) {
    throw badRequest([problem(path, "too_big", `must have at most ${limits.parts} conditions in all`)]);
  }
  const unknown = await Promise.all(
    check.statuses.map(async ({ code, field }) =>
      (await codes.isKnownStatus(code)) ? [] : [unknownStatus(code, field)],
    ),
  );
  const problems = [...check.problems, ...unknown.flat()];
  if (problems.length > 0) throw badRequest(problems);
}

class ConditionCheck {
  readonly problems: Problem[] = [];
  readonly statuses: { code: string; field: string }[] = [];
  readonly #limits: ConditionLimits;
  parts = 0;

  constructor(limits: ConditionLimits) {
    this.#limits = limits;
  }

  /** Goes no further than the limits, so that its work is bounded whatever the tree is. */
  condition(condition: JobCondition, path: string, depth: number): void {
    if (depth > this.#limits.depth) {
      this.#add(path, "too_big", `must be nested at most ${this.#limits.depth} deep`);
      return;
    }
    const before = this.parts;
    for (const part of comparedParts)
      this.#comparison(part, condition[part] as Comparison | null, `${path}.${part}`);
    this.#list(valueOf.category, condition.statusCategory, `${path}.statusCategory`);
    this.#list(valueOf.id, condition.contractorId, `${path}.contractorId`);
    this.#list(valueOf.id, condition.agentId, `${path}.agentId`);
    this.#value(valueOf.search, condition.search, `${path}.search`);
    this.#value(z.boolean(), condition.isLate, `${path}.isLate`);
    this.#value(z.boolean(), condition.scheduledDeliveryPending, `${path}.scheduledDeliveryPending`);
    this.#conditions(condition.and, `${path}.and`, depth + 1);
    this.#conditions(condition.or, `${path}.or`, depth + 1);
    if (condition.not) this.condition(condition.not, `${path}.not`, depth + 1);
    if (this.parts === before && depth > 0) this.parts += 1;
  }

  #conditions(conditions: readonly JobCondition[] | null | undefined, path: string, depth: number): void {
    if (!conditions) return;
    for (const [at, condition] of conditions.entries()) {
      if (this.parts > this.#limits.parts) return;
      this.condition(condition, `${path}.${at}`, depth);
    }
  }

  #comparison(part: ComparedPart, comparison: Comparison | null | undefined, path: string): void {
    if (!comparison) return;
    const value = valueOf[comparedColumns[part].kind];
    for (const operator of Object.keys(comparisonOperators) as ComparisonOperator[]) {
      this.#value(value, comparison[operator], `${path}.${operator}`);
    }
    this.#list(text, comparison.in, `${path}.in`);
    this.#value(text, comparison.startsWith, `${path}.startsWith`);
    this.#value(z.boolean(), comparison.isNull, `${path}.isNull`);
    if (part === "normalizedStatus") this.#status(comparison, path);
  }

  /** To be looked up, unless they are no text at all. */
  #status({ eq, in: list }: Comparison, path: string): void {
    const given = { eq: typeof eq === "string" ? [eq] : [], in: list ?? [] };
    for (const [operator, codes] of Object.entries(given)) {
      const field = `${path}.${operator}`;
      if (this.problems.some((found) => found.field === field)) continue;
      for (const code of new Set(codes)) this.statuses.push({ code, field });
    }
  }

  #list(shape: z.ZodType, values: readonly unknown[] | null | undefined, path: string): void {
    if (!values) return;
    this.parts += 1;
    const max = this.#limits.list;
    if (values.length === 0 || values.length > max) {
      this.#add(path, values.length === 0 ? "too_small" : "too_big", `must have 1 to ${max} items`);
      return;
    }
    const wrong = values.findIndex((value) => !shape.safeParse(value).success);
    if (wrong >= 0) this.#hold(shape, values[wrong], path);
  }

  #value(shape: z.ZodType, value: unknown, path: string): void {
    if (value === null || value === undefined) return;
    this.parts += 1;
    this.#hold(shape, value, path);
  }

  #hold(shape: z.ZodType, value: unknown, path: string): void {
    const [issue] = shape.safeParse(value).error?.issues ?? [];
    if (issue) this.#add(path, issue.code === "custom" ? "invalid_value" : issue.code, issue.message);
  }

  #add(field: string, code: string, message: string): void {
    this.problems.push(problem(field, code, message));
  }
}

function problem(field: string, code: string, message: string): Problem {
  return { location: "query", field, code, message };
}

function unknownStatus(code: string, field: string): Problem {
  return problem(field, "unknown_status", `is not a known status (${JSON.stringify(code)})`);
}
