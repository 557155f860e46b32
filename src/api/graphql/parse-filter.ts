/** Converts the GraphQL input `JobFilter` to the filter of the job service. */
import type { JobFilterTree } from "../../jobs/api.ts";
import { invalidArgument } from "../../core/errors.ts";
import { organizationUuid } from "./nodes.ts";
import type { JobFilter } from "./generated/schema-types.ts";

/** `path` is the filter's path in the arguments. Null parts count as absent. Throws BadRequestException for null comparison values. */
export function parseFilter(filter: JobFilter | null | undefined, path = "filter"): JobFilterTree {
  const parts = Object.entries(filter ?? {}).filter(([, part]) => part !== null);
  return Object.fromEntries(parts.map(([name, part]) => [name, parsePart(name, part, `${path}.${name}`)]));
}

function parsePart(name: string, part: unknown, path: string): unknown {
  switch (name) {
    case "and":
    case "or":
      return (part as JobFilter[]).map((inner, index) => parseFilter(inner, `${path}.${index}`));
    case "not":
      return parseFilter(part as JobFilter, path);
    case "agentId":
    case "contractorId":
      return (part as string[]).map((id, index) => organizationUuid(`${path}.${index}`, id));
    default:
      assertNoNulls(path, part);
      return part;
  }
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
