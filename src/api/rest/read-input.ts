/** Reads the input of an operation from the path, the query, the body and If-Match of a request, strictly and with all problems. */
import type { Request } from "express";
import type { z } from "zod";
import { unknownNames } from "../../core/did-you-mean.ts";
import { type Problem, problemIn } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import { parseInput, type ReadInput } from "../../operations/admit.ts";
import { bodyOf, isRead, memberFrom, type RestOperation, queryOf } from "../../operations/operation.ts";
import { none } from "../../operations/schemas.ts";
import { readerOf, wireSchema } from "./wire.ts";

interface RestInput extends ReadInput {
  /** The unknown parameters of a read, each once. */
  readonly ignored?: readonly string[];
}

type Read = (request: Request) => RestInput;

export function inputReader(operation: RestOperation<never>): Read {
  const { rest, params, text } = operation;
  const bodyMember = memberFrom("body", rest);
  const versions = memberFrom("If-Match", rest);
  const query = queryOf(operation) ?? none;
  const absent = Object.fromEntries(Object.keys(params.shape).map((name) => [name, ""]));
  // A path without its last part has an empty one.
  const readers: Read[] = [(request) => parseInput(params, { ...absent, ...request.params }, "path")];
  if (versions) readers.push((request) => readIfMatch(versions, request.get("if-match")));
  const { ifMatchProblem } = rest;
  if (ifMatchProblem !== undefined)
    readers.push((request) => ({
      values: {},
      problems:
        request.get("if-match") === undefined
          ? []
          : [problemIn("header")("If-Match", "not_supported", ifMatchProblem)],
    }));
  readers.push(inNamesOf(query, parametersOf(query, isRead(operation))));
  if (bodyMember !== undefined)
    readers.push((request) => ({ values: { [bodyMember]: request.body as JsonObject }, problems: [] }));
  else if (text.body) readers.push(inNamesOf(bodyOf(operation), membersOf(bodyOf(operation))));

  return (request) => {
    const parts = readers.map((read) => read(request));
    const problems = parts.flatMap((part) => part.problems);
    const [first] = problems;
    return {
      values: Object.assign({}, ...parts.map(({ values }) => values)) as ReadInput["values"],
      problems,
      ignored: parts.flatMap(({ ignored = [] }) => ignored),
      ...(first?.location === "path" &&
        first.field === "markingNumber" && { message: `The Marking Number ${first.message}` }),
    };
  };
}

/** Returns `read` with the names of the input in place of REST's. */
function inNamesOf(schema: z.ZodObject, read: Read): Read {
  const rename = readerOf(schema);
  return (request) => {
    const { values, ...others } = read(request);
    return { values: rename(values) as JsonObject, ...others };
  };
}

function parametersOf(query: z.ZodObject, ignoresUnknown: boolean): Read {
  const schema = wireSchema(query);
  const known = Object.keys(schema.shape);
  const read = queryReader(schema);
  return ({ originalUrl }) => {
    const { unknown, values, problems } = read(originalUrl);
    if (ignoresUnknown) return { values, problems, ignored: unknown };
    return { values, problems: [...problems, ...unknownProblems("query", unknown, known)] };
  };
}

/** Every member that the input does not have is a problem. */
function membersOf(input: z.ZodObject): Read {
  const schema = wireSchema(input);
  const known = Object.keys(schema.shape);
  return (request) => {
    const body = request.body as JsonObject;
    const { values, problems } = parseInput(schema, body, "body");
    return { values, problems: [...problems, ...unknownProblems("body", Object.keys(body), known)] };
  };
}

const kinds = { body: "member", query: "parameter" } as const;

function unknownProblems(
  location: keyof typeof kinds,
  names: readonly string[],
  known: readonly string[],
): Problem[] {
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length === 0) return [];
  const kind = kinds[location];
  const all = known.length === 0 ? "this request takes none" : `must be one of ${known.join(", ")}`;
  return unknownNames(unknown, known).map(({ name, nearest }) => {
    const advice = nearest === null ? all : `did you mean ${nearest}?`;
    return problemIn(location)(name, `unknown_${kind}`, `is not a known ${kind}; ${advice}`);
  });
}

const ETAGS = /^\s*(?:W\/)?"[^"]*"(?:\s*,\s*(?:W\/)?"[^"]*")*\s*$/;
const NOT_ETAGS = problemIn("header")("If-Match", "malformed", 'must be an ETag such as "3", or *');

/** Reads the versions that the header allows. Weak ETags match nothing. */
function readIfMatch(member: string, header: string | undefined): ReadInput {
  if (header === undefined || header.trim() === "*") return { values: {}, problems: [] };
  if (!ETAGS.test(header)) return { values: {}, problems: [NOT_ETAGS] };
  const tags = header.match(/(?:W\/)?"[^"]*"/g) ?? [];
  const versions = tags.filter((tag) => /^"[1-9]\d{0,8}"$/.test(tag)).map((tag) => Number(tag.slice(1, -1)));
  return { values: { [member]: versions }, problems: [] };
}

/** Returns a function that validates the query of a URL against `schema`. Lists may be repeated. */
export function queryReader(schema: z.ZodObject): (url: string) => ReadInput & Pick<ParsedQuery, "unknown"> {
  const members = Object.entries<z.ZodType>(schema.shape);
  const known = new Set(members.map(([name]) => name));
  const lists = new Set(members.filter(([, member]) => isList(member)).map(([name]) => name));
  return (url) => {
    const { parameters, unknown, problems: ofQuery } = readQuery(url, known, lists);
    const { values, problems } = parseInput(schema, Object.fromEntries(parameters), "query");
    return { values, problems: [...ofQuery, ...problems], unknown };
  };
}

function isList(parameter: z.ZodType): boolean {
  const { type, "x-comma-separated": isTextToo } = parameter.meta() ?? {};
  return type === "array" || isTextToo === true;
}

export interface ParsedQuery {
  parameters: Map<string, string>;
  /** One problem per repeated, empty or malformed parameter. */
  problems: Problem[];
  /** The other names, each once. */
  unknown: string[];
}

/**
 * Strictly parses the parameters of `url` whose names are in `known`. Parameters in `lists` may be repeated; their values are joined
 * with commas.
 */
export function readQuery(
  url: string,
  known: ReadonlySet<string>,
  lists: ReadonlySet<string> = new Set(),
): ParsedQuery {
  const queryStart = url.indexOf("?");
  const parameters = new Map<string, string>();
  const problems: Problem[] = [];
  const unknown = new Set<string>();
  const query = queryStart === -1 ? "" : url.slice(queryStart).replaceAll(BROKEN_ESCAPE, "%EF%BF%BD");
  for (const [name, value] of new URLSearchParams(query)) {
    if (!known.has(name)) {
      if (name !== "") unknown.add(name);
      continue;
    }
    const earlierValues = lists.has(name) ? parameters.get(name) : undefined;
    const problem = queryProblem(name, value, earlierValues === undefined && parameters.has(name));
    if (problem) problems.push(problem);
    else parameters.set(name, earlierValues === undefined ? value : `${earlierValues},${value}`);
  }
  return { parameters, problems, unknown: [...unknown] };
}

/** A percent sign that escapes nothing. URLSearchParams would take it as text. */
const BROKEN_ESCAPE = /%(?![\da-f]{2})/gi;
const inQuery = problemIn("query");

function queryProblem(name: string, value: string, isRepeated: boolean): Problem | null {
  // In place of a broken escape, and of bytes that are not UTF-8.
  if (value.includes("\uFFFD")) return inQuery(name, "malformed", "is not valid percent-encoded UTF-8");
  if (isRepeated) return inQuery(name, "repeated", "must be given once");
  if (value === "") return inQuery(name, "empty", "must not be empty; leave the parameter out instead");
  return null;
}
