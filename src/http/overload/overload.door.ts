/**
 * The first thing that a request meets: more than can be answered in time are refused, at once and for next to nothing, before
 * their keys and bodies are looked at. docs/decisions/0037-a-limit-that-finds-itself.md tells why so.
 */
import type { IncomingMessage, RequestListener } from "node:http";
import type { Registry } from "prom-client";
import type { Logger } from "../../platform/logger.ts";
import { ConcurrencyLimit } from "./concurrency-limit.ts";
import { createRefusal, type RefusalParts } from "./overload.answer.ts";
import { createOverloadReport } from "./overload.report.ts";
import { Places } from "./places.ts";

export interface OverloadParts extends RefusalParts {
  /** Connections to PostgreSQL. */
  poolSize: number;
  logger: Logger;
  registry: Registry;
}

/** A burst that finds the server idle may bring so many for each connection to PostgreSQL. */
const MOST_PER_CONNECTION = 20;

/** `handler` for as many requests as it can answer in time; the others get a 503. */
export function refuseOverload(handler: RequestListener, parts: OverloadParts): RequestListener {
  const limit = new ConcurrencyLimit({ most: parts.poolSize * MOST_PER_CONNECTION });
  const places = new Places(limit);
  const report = createOverloadReport(limit, parts);
  const refuse = createRefusal(parts);

  return (request, response) => {
    if (isForOperators(request)) {
      handler(request, response);
      return;
    }
    const nowMs = performance.now();
    if (limit.isTimeToLook(nowMs)) {
      places.sweep(nowMs);
      limit.look(nowMs);
      report.look(nowMs);
    }
    const key = limit.isLowered ? presentedBy(request) : null;
    const reason = places.reasonAgainst(key, nowMs);
    if (reason === null) {
      places.take(request, response, { key, nowMs });
      handler(request, response);
    } else {
      limit.refused();
      report.refused(reason);
      refuse(request, response);
    }
  };
}

/** Whoever looks after an overloaded server needs these most. However often they are asked for, what they tell is found once. */
const FOR_OPERATORS: ReadonlySet<string> = new Set(["/health/live", "/health/ready", "/metrics"]);

function isForOperators({ url = "" }: IncomingMessage): boolean {
  const queryAt = url.indexOf("?");
  return FOR_OPERATORS.has(queryAt === -1 ? url : url.slice(0, queryAt));
}

/**
 * Who asks, as far as that can be told without looking it up. The door comes before rate limits, so one who floods it would
 * shut out the others: half of the places is for them.
 */
function presentedBy({ headers }: IncomingMessage): string {
  return String(headers["x-api-key"] ?? headers.authorization ?? headers.cookie ?? "");
}
