/** What an operation may ask for at most: refused with the limit and what was asked, never clamped. */
import { GraphQLError } from "graphql";
import { defaultFilterLimits, MAX_GROUPS } from "../../jobs/api.ts";

/** `viewer.limits` answers with these, so that a client can read what it has to keep to. */
export const limits = Object.freeze({
  /** Levels of fields; a root field is the first. */
  depth: 10,
  /** Fields with a name of their own, in the whole operation. */
  aliases: 20,
  rootFields: 10,
  /** `__schema` and `__type` together. */
  introspections: 1,
  /** The largest page of a connection. */
  pageSize: 100,
  /** The longest list in an argument. */
  listSize: defaultFilterLimits.maxListItems,
  /** Conditions in one filter. */
  filterParts: defaultFilterLimits.maxValues,
  /** How deep `and`, `or` and `not` nest. */
  filterDepth: defaultFilterLimits.maxDepth,
  /** What one operation may cost. */
  cost: 1000,
  /** Groups of `jobStats`. */
  groups: MAX_GROUPS,
});

/** The page of a connection that names no size. */
export const DEFAULT_PAGE_SIZE = 20;
/** Bounds on the text itself, before anything of the above can be counted. */
export const MAX_TOKENS = 1000;
export const MAX_RECURSIVE_SELECTIONS = 10_000;
/** Lists and objects within each other, in a variable or an argument: more than any input of the schema has use for. */
export const MAX_INPUT_DEPTH = 20;
/** Beyond so many wrong values the rest is not looked for. */
export const MAX_VARIABLE_ERRORS = 20;
export const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** Throws a GraphQLError if an operation asks for more than `limits[limit]`. */
export function checkLimit(
  limit: "depth" | "aliases" | "rootFields" | "introspections" | "cost",
  requested: number,
): void {
  const max = limits[limit];
  if (requested > max)
    throw tooExpensive({ limit, most: max, asked: requested }, limitMessages[limit](requested, max));
}

/** `asked` is the least that the operation asks for, where counting stopped at the limit. */
export function tooExpensive(
  numbers: { limit: keyof typeof limits; most: number; asked: number },
  message: string,
): GraphQLError {
  return new GraphQLError(message, {
    extensions: { code: "QUERY_TOO_EXPENSIVE", ...numbers, http: { status: 400 } },
  });
}

const limitMessages = {
  depth: (asked: number, most: number) =>
    `The operation is ${asked} levels deep; at most ${most} are allowed`,
  aliases: (asked: number, most: number) => `The operation has ${asked} aliases; at most ${most} are allowed`,
  rootFields: (asked: number, most: number) =>
    `The operation has ${asked} root fields; at most ${most} are allowed`,
  introspections: (asked: number, most: number) =>
    `The operation selects __schema or __type ${asked} times; at most ${most} is allowed, under one name`,
  cost: (asked: number, most: number) =>
    `The operation costs ${asked}; at most ${most} is allowed. Ask for smaller pages or fewer objects`,
};
