/** `JobFilter` as it was asked, as the condition that the job service knows. */
import type { JobCondition, JobStatusCategory } from "../jobs/job.condition.ts";
import { fromTypedId } from "../platform/ids.ts";
import { badArgument } from "./errors.ts";
import type { JobFilter } from "./generated/schema-types.ts";

type Given<Input> = { [Name in keyof Input]?: NonNullable<Input[Name]> };

/** `path`: where the filter stands among the arguments. What is null was not given, but for a value to compare with. */
export function toCondition(filter: JobFilter | null | undefined, path = "filter"): JobCondition {
  const { statusCategory, createdAt, updatedAt, contractorId, agentId, and, or, not, ...same } = given(
    filter ?? {},
  );
  for (const [name, part] of Object.entries(same)) refuseNulls(`${path}.${name}`, part);
  return {
    ...(same as JobCondition),
    ...(statusCategory && {
      statusCategory: statusCategory.map((name) => name.toLowerCase() as JobStatusCategory),
    }),
    ...(createdAt && { createdAt: instants(`${path}.createdAt`, createdAt) }),
    ...(updatedAt && { updatedAt: instants(`${path}.updatedAt`, updatedAt) }),
    ...(contractorId && { contractorId: organizationIds(`${path}.contractorId`, contractorId) }),
    ...(agentId && { agentId: organizationIds(`${path}.agentId`, agentId) }),
    ...(and && { and: and.map((part, at) => toCondition(part, `${path}.and.${at}`)) }),
    ...(or && { or: or.map((part, at) => toCondition(part, `${path}.or.${at}`)) }),
    ...(not && { not: toCondition(not, `${path}.not`) }),
  };
}

function given<Input extends object>(input: Input): Given<Input> {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null)) as Given<Input>;
}

/** A comparison with null holds for nothing, and would be taken for one that asks for what has no value. */
function refuseNulls(path: string, part: unknown): void {
  if (typeof part !== "object" || part === null || Array.isArray(part)) return;
  for (const [name, value] of Object.entries(part)) {
    if (value === null)
      throw badArgument(`${path}.${name}`, "must not be null; isNull: true asks for jobs without a value");
  }
}

function instants(
  path: string,
  part: Readonly<Record<string, Date | null | undefined>>,
): Record<string, string> {
  refuseNulls(path, part);
  return Object.fromEntries(
    Object.entries(part).flatMap(([name, instant]) => (instant ? [[name, instant.toISOString()]] : [])),
  );
}

function organizationIds(path: string, ids: readonly string[]): string[] {
  return ids.map((id, at) => {
    const uuid = fromTypedId("org", id);
    if (uuid === null) throw badArgument(`${path}.${at}`, `is no organisation's id (${JSON.stringify(id)})`);
    return uuid;
  });
}
