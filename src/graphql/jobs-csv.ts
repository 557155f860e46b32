/**
 * The console's table of jobs as a file: what `jobs` answers to the same filter and order, all pages of it. It stands here
 * and not in the REST adapter because its arguments are the contract's inputs, read and checked by the same code.
 */
import { pipeline } from "node:stream/promises";
import { Router, type Request, type RequestHandler, type Response } from "express";
import { coerceInputValue, isInputType, type GraphQLSchema } from "graphql";
import { requireScope } from "../api-keys/api-key.verifier.ts";
import { takeToken, type RateLimits } from "../api-keys/rate-limit.ts";
import type { JobCodes } from "../jobs/job.codes.ts";
import { exportVisibleJobs, type ViewExport } from "../jobs/job.export.view.ts";
import type { Clock } from "../platform/clock.ts";
import type { Queryable } from "../platform/database.ts";
import { AppError, badRequest, invariant } from "../platform/errors.ts";
import type { Viewer } from "../platform/principal.ts";
import { badArgument } from "./errors.ts";
import type { JobFilter, JobOrder } from "./generated/schema-types.ts";
import { bucketOf, type Holder } from "./holder.ts";
import type { HttpDoor } from "./http-door.ts";
import { inputProblems, nestsTooDeep } from "./input-check.ts";
import { checkedCondition, orderOf } from "./resolvers/job.ts";
import type { Sessions } from "./sessions.ts";

export interface JobsCsvParts {
  schema: GraphQLSchema;
  services: { codes: JobCodes; clock: Clock };
  /** What `viewer` sees, read while `signal` says nothing. */
  readsOf: (viewer: Viewer, signal: AbortSignal) => Queryable;
  sessions: Sessions;
  /** Null: rate limits are off. */
  limits: RateLimits | null;
}

const PATH = "/console-data/jobs.csv";
const VALUES = ["spreadsheet", "exact"] as const;

/** For people who are signed in: partners' programs have REST and GraphQL itself. */
export function jobsCsvRoutes(parts: JobsCsvParts, door: HttpDoor): RequestHandler {
  return Router({ caseSensitive: true }).all(PATH, answering(parts, door));
}

function answering(parts: JobsCsvParts, door: HttpDoor): RequestHandler {
  return async (request, response) => {
    door.noteRoute(response, PATH);
    refuseOtherMethods(request);
    const holder = await authenticate(parts, request);
    door.noteHolder(response, holder);
    requireScope(holder, "jobs:read");
    const setHeader = (name: string, value: string): void => void response.setHeader(name, value);
    await takeToken(parts.limits, bucketOf(holder), "batch", setHeader);
    await send(parts, { holder, asked: await readQuestion(parts, request) }, response);
  };
}

function refuseOtherMethods({ method }: Request): void {
  if (method === "GET") return;
  throw new AppError("MethodNotAllowedException", `${method} is not allowed here. Allowed: GET`, {
    headers: { Allow: "GET" },
  });
}

function authenticate({ sessions }: JobsCsvParts, { headers, ip = "" }: Request): Promise<Holder> {
  sessions.requireOwnPage(headers);
  return sessions.verify(headers, ip);
}

/** What is wrong shows with the first part, before anything is sent. */
async function send(
  { readsOf, services }: JobsCsvParts,
  { holder, asked }: { holder: Holder; asked: ViewExport },
  response: Response,
): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const rest = exportVisibleJobs(readsOf(holder, gone.signal), holder, asked);
  const first = await rest.next();
  const day = new Date(services.clock.now()).toISOString().slice(0, 10);
  const name = asked.values === "exact" ? `jobs-${day}-to-import.csv` : `jobs-${day}.csv`;
  response.setHeader("Content-Type", "text/csv; charset=utf-8; header=present");
  response.setHeader("Content-Disposition", `attachment; filename="${name}"`);
  response.setHeader("Cache-Control", "no-store");
  const whole = async function* (): AsyncGenerator<string> {
    if (first.done !== true) yield first.value;
    yield* rest;
  };
  await pipeline(whole, response).catch((error: unknown) => {
    // Nobody waits for the rest.
    if (!gone.signal.aborted) throw error;
  });
}

async function readQuestion({ schema, services }: JobsCsvParts, { url }: Request): Promise<ViewExport> {
  const given = new URL(url, "http://any").searchParams;
  const filter = inputOf(schema, "JobFilter", parameterOf(given, "filter"), "filter");
  const orderBy = inputOf(schema, "JobOrder", parameterOf(given, "orderBy"), "orderBy");
  const values = parameterOf(given, "values") ?? "spreadsheet";
  if (!isValues(values)) throw badArgument("values", `must be one of ${VALUES.join(", ")}`);
  return {
    condition: await checkedCondition({ services }, filter as JobFilter | null),
    order: orderOf(orderBy as JobOrder | null),
    values,
  };
}

function isValues(text: string): text is ViewExport["values"] {
  return (VALUES as readonly string[]).includes(text);
}

function parameterOf(given: URLSearchParams, name: string): string | null {
  const values = given.getAll(name);
  if (values.length > 1) throw badArgument(name, "is given more than once");
  return values[0] ?? null;
}

/** A parameter that holds an input of the contract as JSON, as GraphQL would take it for a variable. */
function inputOf(schema: GraphQLSchema, type: string, text: string | null, name: string): unknown {
  if (text === null) return null;
  const inputType = schema.getType(type);
  invariant(isInputType(inputType), `${type} is an input of the contract`);
  const value = parsed(text, name);
  if (nestsTooDeep(value)) throw badRequest(inputProblems(value, name, 0));
  const input: unknown = coerceInputValue(value, inputType, (path, _value, { message }) => {
    throw badArgument([name, ...path].join("."), `is not as the contract has it: ${message}`);
  });
  const problems = inputProblems(input, name, 0);
  if (problems.length > 0) throw badRequest(problems);
  return input;
}

function parsed(text: string, name: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw badArgument(name, "must be JSON");
  }
}
