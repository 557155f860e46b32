/** The query parameters that select jobs, for the list and the statistics. */
import type { z } from "zod";
import { dateTimeParameter, optionalParameter } from "../../operations/schemas.ts";
import { knownFailureReasons, knownStatuses } from "../known-codes.ts";
import { dateValue, markingNumberValue, textValue } from "../values.ts";
import type { JobFilterTree } from "./filter.sql.ts";

const filterText = (max: number, description: string, example: string, meta: object = {}) =>
  optionalParameter(textValue(max), description, example, { minLength: 1, ...meta });

export const filterParameters = {
  markingNumber: optionalParameter(markingNumberValue, "Exact match.", "MN-2026-000123", { minLength: 1 }),
  batchNumber: filterText(120, "Exact match.", "B-2026-118"),
  normalizedStatus: filterText(
    64,
    "Exact match on the status code; an unknown code returns 400.",
    "failed",
    knownStatuses,
  ),
  updatedAtFrom: optionalParameter(dateValue, "Jobs updated on or after this day (UTC).", "2026-11-01"),
  updatedAtTo: optionalParameter(dateValue, "Jobs updated on or before this day (UTC).", "2026-11-30"),
  scheduledDateFrom: optionalParameter(dateValue, "Jobs scheduled on or after this date.", "2026-11-24"),
  scheduledDateTo: optionalParameter(dateValue, "Jobs scheduled on or before this date.", "2026-11-30"),
  updatedSince: optionalParameter(
    dateTimeParameter,
    "Jobs updated at or after this time.",
    "2026-11-21T08:00:00Z",
  ),
  failureReason: filterText(
    64,
    "Exact match on the reason code.",
    "wrong_incomplete_address",
    knownFailureReasons,
  ),
  groupCode: filterText(120, "Exact match.", "EAST-2"),
  q: filterText(
    255,
    "Search for the start of the Marking Number or postal code, or any part of the recipient name or delivery address.",
    "harbour",
  ),
};

type Parameters = z.output<z.ZodObject<typeof filterParameters>>;

/** Ranges of days include both ends. For `updatedAt` they cover whole days in UTC; it has millisecond precision. */
export function toJobFilter(parameters: Parameters): JobFilterTree {
  const { updatedAtFrom: from, updatedAtTo: to, updatedSince: since } = parameters;
  const updatedAt = {
    gte: from === undefined ? since : `${from}T00:00:00Z`,
    lte: to && `${to}T23:59:59.999Z`,
  };
  return {
    ...equals("markingNumber", parameters.markingNumber),
    ...equals("batchNumber", parameters.batchNumber),
    ...equals("groupCode", parameters.groupCode),
    ...equals("normalizedStatus", parameters.normalizedStatus),
    ...equals("failureReason", parameters.failureReason),
    ...range("updatedAt", updatedAt),
    ...range("scheduledDate", { gte: parameters.scheduledDateFrom, lte: parameters.scheduledDateTo }),
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
