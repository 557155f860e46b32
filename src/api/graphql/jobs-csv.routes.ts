/**
 * The exact CSV export of the console's job list: all results of the `jobs` query for the same filter and order. It is in the GraphQL
 * adapter because its parameters are GraphQL inputs and are parsed and checked by the same code.
 */
import { pipeline } from "node:stream/promises";
import { Router, type Request, type RequestHandler, type Response } from "express";
import { coerceInputValue, type GraphQLInputType, type GraphQLSchema } from "graphql";
import { authorize } from "../../operations/admit.ts";
import { rootAccess } from "../../operations/all.ts";
import { type RateLimits, takeTokens } from "../../rate-limits/api.ts";
import { exportJobs, type JobExport, type JobReferenceData } from "../../jobs/api.ts";
import type { Clock } from "../../core/clock.ts";
import type { Queryable } from "../../core/postgres/database.ts";
import { badRequest, invalidArgument } from "../../core/errors.ts";
import type { Principal } from "../../core/principal.ts";
import type { JobFilter, JobOrder } from "./generated/schema-types.ts";
import { rateLimitSubjectOf } from "./authenticated-principal.ts";
import { contextOf, tagRoute } from "../context.ts";
import { methodNotAllowed } from "../error-handler.ts";
import { inputProblems } from "./execution/input-limits.ts";
import { checkedFilter, toJobOrder } from "./resolvers/job.ts";
import {
  parseSessionMode,
  type SessionMode,
  type SessionPrincipal,
  type SessionVerifier,
} from "../../accounts/api.ts";

export interface JobsCsvDeps {
  schema: GraphQLSchema;
  services: { referenceData: JobReferenceData; clock: Clock };
  /** The database to read the principal's jobs from. Statements are cancelled when `signal` aborts. */
  readerFor: (principal: Principal, signal: AbortSignal) => Queryable;
  sessions: SessionVerifier;
  limits: RateLimits | null;
}

const PATH = "/console-api/jobs.csv";

/** Serves signed-in users only. API keys use the REST and GraphQL APIs. */
export function jobsCsvRoutes(deps: JobsCsvDeps): RequestHandler {
  const router = Router({ caseSensitive: true });
  const onlyGet = methodNotAllowed("GET");
  router.route(PATH).all(tagRoute(PATH)).head(onlyGet).get(exportHandler(deps)).all(onlyGet);
  return router;
}

function exportHandler(deps: JobsCsvDeps): RequestHandler {
  return async (request, response) => {
    const principal = await authenticate(deps, request);
    contextOf(response).principal = principal;
    authorize(rootAccess.jobs, principal);
    await takeTokens(deps.limits, rateLimitSubjectOf(principal), { kind: "batch" }, (name, value) =>
      response.setHeader(name, value),
    );
    const exported = { principal, mode: modeOf(request.url), request: await parseRequest(deps, request) };
    await sendCsv(deps, exported, response);
  };
}

function authenticate(
  { sessions }: JobsCsvDeps,
  { headers, ip = "", url }: Request,
): Promise<SessionPrincipal> {
  sessions.requireSameOrigin(headers);
  return sessions.verify(headers, ip, modeOf(url));
}

/** A parameter, because a link cannot send a header. */
function modeOf(url: string): SessionMode {
  return parseSessionMode(new URL(url, "http://any").searchParams.get("mode"), {
    location: "query",
    field: "mode",
  });
}

/** Reads the first part before sending the headers, so that an error can still set the status. */
async function sendCsv(
  { readerFor, services, sessions }: JobsCsvDeps,
  { principal, mode, request }: { principal: SessionPrincipal; mode: SessionMode; request: JobExport },
  response: Response,
): Promise<void> {
  const disconnected = new AbortController();
  response.once("close", () => disconnected.abort());
  const csvParts = exportJobs(readerFor(principal, disconnected.signal), principal, request);
  const first = await csvParts.next();
  const day = new Date(services.clock.now()).toISOString().slice(0, 10);
  response.setHeader("Content-Type", "text/csv; charset=utf-8; header=present");
  response.setHeader("Content-Disposition", `attachment; filename="jobs-${day}-to-import.csv"`);
  response.setHeader("Cache-Control", "no-store");
  const whole = async function* (): AsyncGenerator<string> {
    if (first.done !== true) yield first.value.text;
    for await (const { text } of csvParts) {
      // A download takes minutes. A session that has ended meanwhile ends it.
      await sessions.revalidate(principal.sessionId, mode);
      yield text;
    }
  };
  await pipeline(whole, response).catch((error: unknown) => {
    // The client disconnected.
    if (!disconnected.signal.aborted) throw error;
  });
}

async function parseRequest({ schema, services }: JobsCsvDeps, { url }: Request): Promise<JobExport> {
  const { searchParams } = new URL(url, "http://any");
  const filter = parseInput(schema, "JobFilter", searchParams.get("filter"), "filter");
  const orderBy = parseInput(schema, "JobOrder", searchParams.get("orderBy"), "orderBy");
  return {
    filter: await checkedFilter({ services }, filter as JobFilter | null),
    order: toJobOrder(orderBy as JobOrder | null),
    format: "csv",
  };
}

/** Parses a query parameter that holds a GraphQL input as JSON, with the rules for GraphQL variables. */
function parseInput(schema: GraphQLSchema, type: string, text: string | null, name: string): unknown {
  if (text === null) return null;
  const value = parseJson(text, name);
  const problems = inputProblems(value, name, 0);
  if (problems.length > 0) throw badRequest(problems);
  return coerceInputValue(value, schema.getType(type) as GraphQLInputType, (path, _value, { message }) => {
    throw invalidArgument([name, ...path].join("."), `does not match the schema: ${message}`);
  });
}

function parseJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw invalidArgument(name, "must be JSON");
  }
}
