/** Limits of one operation. An operation over a limit is rejected with the limit and the requested value, never truncated. */
import { GraphQLError } from "graphql";
import { filterLimits, MAX_GROUPS } from "../../../jobs/api.ts";

/** Clients can read these values as `viewer.limits`. */
export const limits = Object.freeze({
  /** Nested levels of fields. Root fields are level 1. */
  depth: 10,
  /** Fields with an alias in the operation. */
  aliases: 20,
  rootFields: 10,
  /** `__schema` and `__type` together. */
  introspections: 1,
  /** Items on one page of a connection. */
  pageSize: 100,
  /** Items of a list in an argument. */
  listSize: filterLimits.maxListItems,
  /** Conditions in one filter. */
  filterParts: filterLimits.maxValues,
  /** Nested levels of `and`, `or` and `not`. */
  filterDepth: filterLimits.maxDepth,
  /** Cost as computed in cost.ts. */
  cost: 1000,
  /** Groups of `jobStats`. */
  groups: MAX_GROUPS,
  /** Names, values and punctuation of a document. Limits the time to parse and validate it. */
  tokens: 1000,
  /** Fields of an operation with its fragments expanded. */
  selections: 10_000,
});

export const DEFAULT_PAGE_SIZE = 20;
/** Apollo checks these two while it parses and validates. */
const messages = {
  tokens: `The document has more than ${limits.tokens} tokens. Pass lists and objects as variables`,
  selections: `The operation has more than ${limits.selections} fields with its fragments expanded`,
};
/** Nested levels of lists and objects in a variable or an argument. No valid input needs more. */
export const MAX_INPUT_DEPTH = 20;
/** Lists and objects in a variable or an argument. A batch of 100 jobs has 400. */
export const MAX_INPUT_CONTAINERS = 2_000;
/** Enough for a batch of 100 jobs with every field. */
export const MAX_BODY_BYTES = 256 * 1024;
/** A request takes one more token for each: its parsing blocks all others. */
export const BODY_BYTES_PER_TOKEN = 32 * 1024;

/** Throws a GraphQLError if an operation asks for more than `limits[limit]`. */
export function checkLimit(
  limit: "depth" | "aliases" | "rootFields" | "introspections" | "cost",
  requested: number,
): void {
  const max = limits[limit];
  if (requested > max)
    throw tooExpensive({ limit, most: max, asked: requested }, limitMessages[limit](requested, max));
}

/** Returns the error that replaces one of Apollo about a document over a limit, or null for other errors. */
export function documentLimitError(error: unknown): GraphQLError | null {
  if (!(error instanceof GraphQLError)) return null;
  const isTokens = error.message.includes(`more that ${limits.tokens} tokens`);
  const limit = isTokens
    ? "tokens"
    : error.extensions["validationErrorCode"] === undefined
      ? null
      : "selections";
  return limit && tooExpensive({ limit, most: limits[limit], asked: limits[limit] + 1 }, messages[limit]);
}

/** `asked` is a lower bound if counting stopped at the limit. */
export function tooExpensive(
  numbers: { limit: keyof typeof limits; most: number; asked: number },
  message: string,
): GraphQLError {
  return new GraphQLError(message, {
    extensions: { code: "QUERY_TOO_EXPENSIVE", ...numbers, http: { status: 400 } },
  });
}

const limitMessages = {
  depth: (requested: number, max: number) =>
    `The operation is ${requested} levels deep; at most ${max} are allowed`,
  aliases: (requested: number, max: number) =>
    `The operation has ${requested} aliases; at most ${max} are allowed`,
  rootFields: (requested: number, max: number) =>
    `The operation has ${requested} root fields; at most ${max} are allowed`,
  introspections: (requested: number, max: number) =>
    `The operation selects __schema or __type ${requested} times; at most ${max} is allowed, under one name`,
  cost: (requested: number, max: number) =>
    `The operation costs ${requested}; at most ${max} is allowed. Request smaller pages or fewer objects`,
};
