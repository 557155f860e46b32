/** The query parameters that select jobs, for the list and the statistics. */
import { z } from "zod";
import { fromTypedId } from "../../core/ids.ts";
import {
  booleanParameter,
  dateTimeParameter,
  listForm,
  listMeta,
  listOf,
  listParameter,
  MAX_LIST_ITEMS,
  optionalParameter,
  textOrListForm,
} from "../../operations/schemas.ts";
import { knownFailureReasons, knownStatuses } from "../known-codes.ts";
import { statusCategories } from "../reference-data.entity.ts";
import { dateValue, markingNumberValue, textValue } from "../values.ts";
import type { JobFilterTree } from "./filter.sql.ts";
import { searchLimits, searchRule, searchText } from "./search.ts";

const filterText = (max: number, description: string, example: string, meta: object = {}) =>
  optionalParameter(textValue(max), description, example, { minLength: 1, ...meta });

const SEVERAL = "separated by commas or as a repeated parameter";

const EXAMPLE_ID = "org_01KA2M8D6R4TX0VQ9ZC7JH3EWB";

const organizationIds = (whose: string) =>
  optionalParameter(
    listOf(
      z.string().refine((id) => fromTypedId("org", id) !== null, {
        error: ({ input }) =>
          `must be an organisation ID such as ${EXAMPLE_ID}, got ${JSON.stringify(input).slice(0, 100)}`,
      }),
    ),
    `Jobs of one of these ${whose}: IDs, ${SEVERAL}.`,
    [EXAMPLE_ID],
    { ...listForm, maxItems: MAX_LIST_ITEMS },
  );

export const contractFilters = {
  markingNumber: optionalParameter(markingNumberValue, "Exact match.", "MN-2026-000123", { minLength: 1 }),
  batchNumber: filterText(120, "Exact match.", "B-2026-118"),
  normalizedStatus: optionalParameter(
    listOf(textValue(64)),
    `Exact match on the status code, or on one of several, ${SEVERAL}; an unknown code returns 400.`,
    "failed",
    { ...textOrListForm, minLength: 1, ...knownStatuses },
  ),
  updatedAtFrom: optionalParameter(dateValue, "Jobs updated on or after this day (UTC).", "2026-11-01"),
  updatedAtTo: optionalParameter(dateValue, "Jobs updated on or before this day (UTC).", "2026-11-30"),
  scheduledDateFrom: optionalParameter(dateValue, "Jobs scheduled on or after this date.", "2026-11-24"),
  scheduledDateTo: optionalParameter(dateValue, "Jobs scheduled on or before this date.", "2026-11-30"),
};

export const otherFilters = {
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
  category: optionalParameter(
    listParameter(statusCategories),
    `Jobs whose status has one of these categories, ${SEVERAL}.`,
    ["open", "in_progress"],
    { ...listMeta(statusCategories, "enum"), maxItems: MAX_LIST_ITEMS },
  ),
  agentId: organizationIds("agents"),
  contractorId: organizationIds("contractors"),
  hasContractor: booleanParameter.optional().meta({
    type: "boolean",
    description: "`false`: jobs without a contractor. `true`: jobs with one.",
    examples: [false],
  }),
  createdAtFrom: optionalParameter(dateValue, "Jobs created on or after this day (UTC).", "2026-11-01"),
  createdAtTo: optionalParameter(dateValue, "Jobs created on or before this day (UTC).", "2026-11-30"),
  providerStatus: filterText(255, "Exact match on the carrier's own status.", "DEX03"),
  q: optionalParameter(
    searchText,
    `Text search: ${searchRule}; \`POST /v1/jobs/lookup\` says which were not found. Other texts have at most ${searchLimits.maxLength} characters.`,
    "harbour street",
    { minLength: 1 },
  ),
};

export const filterParameters = { ...contractFilters, ...otherFilters };

type Parameters = z.output<z.ZodObject<typeof filterParameters>>;

export function toJobFilter(parameters: Parameters): JobFilterTree {
  const { updatedAtFrom: from, updatedAtTo: to, updatedSince: since, normalizedStatus: codes } = parameters;
  const updatedAt = wholeDays(from, to);
  return {
    ...equals("markingNumber", parameters.markingNumber),
    ...equals("batchNumber", parameters.batchNumber),
    ...equals("groupCode", parameters.groupCode),
    ...(codes && { normalizedStatus: codes.length > 1 ? { in: codes } : { eq: codes[0] } }),
    statusCategory: parameters.category,
    agentId: parameters.agentId?.map(toUuid),
    contractorId: parameters.contractorId?.map(toUuid),
    hasContractor: parameters.hasContractor,
    ...equals("providerStatus", parameters.providerStatus),
    ...equals("failureReason", parameters.failureReason),
    ...range("updatedAt", { ...updatedAt, gte: updatedAt.gte ?? since }),
    ...range("createdAt", wholeDays(parameters.createdAtFrom, parameters.createdAtTo)),
    ...range("scheduledDate", { gte: parameters.scheduledDateFrom, lte: parameters.scheduledDateTo }),
    search: parameters.q,
    ...(from !== undefined && since !== undefined && { and: [{ updatedAt: { gte: since } }] }),
  };
}

/** The instants of days in UTC, both included. Times of jobs have millisecond precision. */
function wholeDays(from: string | undefined, to: string | undefined) {
  return { gte: from && `${from}T00:00:00Z`, lte: to && `${to}T23:59:59.999Z` };
}

const toUuid = (id: string) => fromTypedId("org", id) as string;

function equals(key: keyof JobFilterTree, value: string | undefined): JobFilterTree {
  return value === undefined ? {} : { [key]: { eq: value } };
}

function range(
  key: keyof JobFilterTree,
  bounds: { gte: string | undefined; lte: string | undefined },
): JobFilterTree {
  return bounds.gte === undefined && bounds.lte === undefined ? {} : { [key]: bounds };
}
