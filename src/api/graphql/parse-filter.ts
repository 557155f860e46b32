/** Converts the GraphQL input `JobFilter` to the filter of the job service. */
import type { JobFilterTree } from "../../jobs/api.ts";
import { invalidArgument } from "../../core/errors.ts";
import { organizationUuid } from "./arguments.ts";
import type { JobFilter } from "./generated/schema-types.ts";

type WithoutNulls<Input> = { [Name in keyof Input]?: NonNullable<Input[Name]> };

/** `path` is the filter's path in the arguments. Null parts count as absent. Throws BadRequestException for null comparison values. */
export function parseFilter(filter: JobFilter | null | undefined, path = "filter"): JobFilterTree {
  const { createdAt, updatedAt, contractorId, agentId, and, or, not, ...otherFields } = withoutNulls(
    filter ?? {},
  );
  for (const [name, part] of Object.entries(otherFields)) assertNoNulls(`${path}.${name}`, part);
  return {
    ...(otherFields as JobFilterTree),
    ...(createdAt && { createdAt: toIsoStrings(`${path}.createdAt`, createdAt) }),
    ...(updatedAt && { updatedAt: toIsoStrings(`${path}.updatedAt`, updatedAt) }),
    ...(contractorId && { contractorId: toOrganizationUuids(`${path}.contractorId`, contractorId) }),
    ...(agentId && { agentId: toOrganizationUuids(`${path}.agentId`, agentId) }),
    ...(and && { and: and.map((part, index) => parseFilter(part, `${path}.and.${index}`)) }),
    ...(or && { or: or.map((part, index) => parseFilter(part, `${path}.or.${index}`)) }),
    ...(not && { not: parseFilter(not, `${path}.not`) }),
  };
}

function withoutNulls<Input extends object>(input: Input): WithoutNulls<Input> {
  return Object.fromEntries(
    Object.entries(input).filter(([, value]) => value !== null),
  ) as WithoutNulls<Input>;
}

/** Rejects comparisons with null: they match nothing, but clients expect jobs without a value. */
function assertNoNulls(path: string, part: unknown): void {
  if (typeof part !== "object" || part === null || Array.isArray(part)) return;
  for (const [name, value] of Object.entries(part)) {
    if (value === null)
      throw invalidArgument(
        `${path}.${name}`,
        "must not be null; use isNull: true to find jobs without a value",
      );
  }
}

function toIsoStrings(
  path: string,
  part: Readonly<Record<string, Date | null | undefined>>,
): Record<string, string> {
  assertNoNulls(path, part);
  return Object.fromEntries(
    Object.entries(part).flatMap(([name, instant]) => (instant ? [[name, instant.toISOString()]] : [])),
  );
}

function toOrganizationUuids(path: string, ids: readonly string[]): string[] {
  return ids.map((id, index) => organizationUuid(`${path}.${index}`, id));
}
