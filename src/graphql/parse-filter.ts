/** `JobFilter` as it was asked, as the condition that the job service knows. */
import type { JobFilterTree, JobStatusCategory } from "../jobs/api.ts";
import { fromTypedId } from "../platform/ids.ts";
import { invalidArgument } from "./invalid-argument.ts";
import type { JobFilter } from "./generated/schema-types.ts";

type WithoutNulls<Input> = { [Name in keyof Input]?: NonNullable<Input[Name]> };

/** `path`: where the filter stands among the arguments. What is null was not given, but for a value to compare with. */
export function parseFilter(filter: JobFilter | null | undefined, path = "filter"): JobFilterTree {
  const { statusCategory, createdAt, updatedAt, contractorId, agentId, and, or, not, ...otherFields } =
    withoutNulls(filter ?? {});
  for (const [name, part] of Object.entries(otherFields)) assertNoNulls(`${path}.${name}`, part);
  return {
    ...(otherFields as JobFilterTree),
    ...(statusCategory && {
      statusCategory: statusCategory.map((name) => name.toLowerCase() as JobStatusCategory),
    }),
    ...(createdAt && { createdAt: toIsoStrings(`${path}.createdAt`, createdAt) }),
    ...(updatedAt && { updatedAt: toIsoStrings(`${path}.updatedAt`, updatedAt) }),
    ...(contractorId && { contractorId: toOrganizationUuids(`${path}.contractorId`, contractorId) }),
    ...(agentId && { agentId: toOrganizationUuids(`${path}.agentId`, agentId) }),
    ...(and && { and: and.map((part, at) => parseFilter(part, `${path}.and.${at}`)) }),
    ...(or && { or: or.map((part, at) => parseFilter(part, `${path}.or.${at}`)) }),
    ...(not && { not: parseFilter(not, `${path}.not`) }),
  };
}

function withoutNulls<Input extends object>(input: Input): WithoutNulls<Input> {
  return Object.fromEntries(
    Object.entries(input).filter(([, value]) => value !== null),
  ) as WithoutNulls<Input>;
}

/** A comparison with null holds for nothing, and would be taken for one that asks for what has no value. */
function assertNoNulls(path: string, part: unknown): void {
  if (typeof part !== "object" || part === null || Array.isArray(part)) return;
  for (const [name, value] of Object.entries(part)) {
    if (value === null)
      throw invalidArgument(
        `${path}.${name}`,
        "must not be null; isNull: true asks for jobs without a value",
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
  return ids.map((id, at) => {
    const uuid = fromTypedId("org", id);
    if (uuid === null)
      throw invalidArgument(`${path}.${at}`, `is no organisation's id (${JSON.stringify(id)})`);
    return uuid;
  });
}
