/** The query parameters that select jobs, for the list and the statistics. */
import { z } from "zod";
import {
  type JobFilterTree,
  type JobService,
  knownFailureReasons,
  knownStatuses,
  markingNumberValue,
  textValue,
} from "../../jobs/api.ts";
import { badRequest } from "../../core/errors.ts";
import { dateParameter, problemsIn, readQuery, withAllProblems } from "./parameters.ts";
import { dateTimeParameter, optionalParameter } from "../../operations/schemas.ts";

const filterText = (max: number, description: string, example: string, meta: object = {}) =>
  optionalParameter(textValue(max), description, example, { minLength: 1, ...meta });

export const filterParameters = z.object({
  marking_number: optionalParameter(markingNumberValue, "Exact match.", "MN-2026-000123", { minLength: 1 }),
  batch_number: filterText(120, "Exact match.", "B-2026-118"),
  normalized_status: filterText(
    64,
    "Exact match on the status code; an unknown code returns 400.",
    "failed",
    knownStatuses,
  ),
  updated_at_from: optionalParameter(dateParameter, "Jobs updated on or after this day (UTC).", "2026-11-01"),
  updated_at_to: optionalParameter(dateParameter, "Jobs updated on or before this day (UTC).", "2026-11-30"),
  scheduled_date_from: optionalParameter(
    dateParameter,
    "Jobs scheduled on or after this date.",
    "2026-11-24",
  ),
  scheduled_date_to: optionalParameter(dateParameter, "Jobs scheduled on or before this date.", "2026-11-30"),
  updated_since: optionalParameter(
    dateTimeParameter,
    "Jobs updated at or after this time.",
    "2026-11-21T08:00:00Z",
  ),
  failure_reason: filterText(
    64,
    "Exact match on the reason code.",
    "wrong_incomplete_address",
    knownFailureReasons,
  ),
  group_code: filterText(120, "Exact match.", "EAST-2"),
  q: filterText(
    255,
    "Search for the start of the Marking Number or postal code, or any part of the recipient name or delivery address.",
    "harbour",
  ),
});

/** Ranges of days include both ends. For `updated_at` they cover whole days in UTC; it has millisecond precision. */
export function toJobFilter(parameters: z.output<typeof filterParameters>): JobFilterTree {
  const { updated_at_from: from, updated_at_to: to, updated_since: since } = parameters;
  const updatedAt = {
    gte: from === undefined ? since : `${from}T00:00:00Z`,
    lte: to && `${to}T23:59:59.999Z`,
  };
  return {
    ...equals("markingNumber", parameters.marking_number),
    ...equals("batchNumber", parameters.batch_number),
    ...equals("groupCode", parameters.group_code),
    ...equals("normalizedStatus", parameters.normalized_status),
    ...equals("failureReason", parameters.failure_reason),
    ...range("updatedAt", updatedAt),
    ...range("scheduledDate", { gte: parameters.scheduled_date_from, lte: parameters.scheduled_date_to }),
    search: parameters.q,
    ...(from !== undefined && since !== undefined && { and: [{ updatedAt: { gte: since } }] }),
  };
}

function equals(key: keyof JobFilterTree, value: string | undefined): JobFilterTree {
  return value === undefined ? {} : { [key]: { eq: value } };
}

function range(
  key: keyof JobFilterTree,
  bounds: { gte: string | undefined; lte: string | undefined },
): JobFilterTree {
  return bounds.gte === undefined && bounds.lte === undefined ? {} : { [key]: bounds };
}

/**
 * Returns the result of `read`, which parses the query of `url` and throws BadRequestException. An unknown status is a problem
 * too: it is reported with the others.
 */
export async function readWithStatus<Result>(
  jobs: Pick<JobService, "statusProblems">,
  url: string,
  { read, statusOf }: { read: () => Result; statusOf: (result: Result) => string | null | undefined },
): Promise<Result> {
  const result = await withAllProblems(read, async () => [
    ...problemsIn(read),
    ...(await jobs.statusProblems(statusInQuery(url))),
  ]);
  const statusProblems = await jobs.statusProblems(statusOf(result));
  if (statusProblems.length > 0) throw badRequest(statusProblems);
  return result;
}

/** Returns `normalized_status` of a query even if other parameters are invalid; undefined if it is absent or malformed. */
function statusInQuery(url: string): string | undefined {
  const text = readQuery(url, new Set(["normalized_status"])).parameters.get("normalized_status");
  const parsed = filterParameters.shape.normalized_status.safeParse(text);
  return parsed.success ? parsed.data : undefined;
}
