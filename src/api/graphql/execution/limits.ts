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
/** Nested levels of lists and objects in a variable or an argument. No valid input needs more. */
export const MAX_INPUT_DEPTH = 20;
/** Lists and objects in a variable or an argument. A batch of 100 jobs has 400. */
export const MAX_INPUT_CONTAINERS = 2_000;
/** Enough for a batch of 100 jobs with every field. */
export const MAX_BODY_BYTES = 256 * 1024;
/** A request takes one more token for each: its parsing blocks all others. */
export const BODY_BYTES_PER_TOKEN = 32 * 1024;

const messages = {
  depth: (asked: number) => `The operation is ${asked} levels deep; at most ${limits.depth} are allowed`,
  aliases: (asked: number) => `The operation has ${asked} aliases; at most ${limits.aliases} are allowed`,
  rootFields: (asked: number) =>
    `The operation has ${asked} root fields; at most ${limits.rootFields} are allowed`,
  introspections: (asked: number) =>
    `The operation selects __schema or __type ${asked} times; at most ${limits.introspections} is allowed, under one name`,
  cost: (asked: number) =>
    `The operation costs ${asked}; at most ${limits.cost} is allowed. Request smaller pages or fewer objects`,
  // Apollo checks these two while it parses and validates.
  tokens: () => `The document has more than ${limits.tokens} tokens. Pass lists and objects as variables`,
  selections: () => `The operation has more than ${limits.selections} fields with its fragments expanded`,
};

/** Throws a GraphQLError if an operation asks for more than `limits[limit]`. */
export function checkLimit(limit: keyof typeof messages, asked: number): void {
  if (asked > limits[limit]) throw tooExpensive(limit, asked);
}

/** Returns the error that replaces one of Apollo about a document over a limit, or null for other errors. */
export function documentLimitError(error: unknown): GraphQLError | null {
  if (!(error instanceof GraphQLError)) return null;
  if (error.message.includes(`more that ${limits.tokens} tokens`)) return tooExpensive("tokens");
  return error.extensions["validationErrorCode"] === undefined ? null : tooExpensive("selections");
}

/** `asked` is a lower bound if counting stopped at the limit. */
export function tooExpensive(
  limit: keyof typeof messages,
  asked = limits[limit] + 1,
  message = messages[limit](asked),
): GraphQLError {
  const numbers = { limit, most: limits[limit], asked };
  return new GraphQLError(message, {
    extensions: { code: "QUERY_TOO_EXPENSIVE", ...numbers, http: { status: 400 } },
  });
}
