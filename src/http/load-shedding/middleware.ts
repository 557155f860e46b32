/**
 * The first thing that a request meets: more than can be answered in time are refused, at once and for next to nothing, before
 * their keys and bodies are looked at. docs/decisions/0037-a-limit-that-finds-itself.md tells why so.
 */
import type { IncomingMessage, RequestListener } from "node:http";
import type { Registry } from "prom-client";
import type { Logger } from "../../platform/logger.ts";
import { ConcurrencyLimit } from "./concurrency-limit.ts";
import { createRejectionHandler, type RejectionDeps } from "./rejection.ts";
import { createLoadSheddingMetrics } from "./metrics.ts";
import { InFlightRequests } from "./in-flight-requests.ts";

export interface LoadSheddingDeps extends RejectionDeps {
  /** Connections to PostgreSQL. */
  poolSize: number;
  logger: Logger;
  registry: Registry;
}

/** A burst that finds the server idle may bring so many for each connection to PostgreSQL. */
const MAX_REQUESTS_PER_CONNECTION = 20;

/** `handler` for as many requests as it can answer in time; the others get a 503. */
export function withLoadShedding(handler: RequestListener, parts: LoadSheddingDeps): RequestListener {
  const limit = new ConcurrencyLimit({ max: parts.poolSize * MAX_REQUESTS_PER_CONNECTION });
  const inFlight = new InFlightRequests(limit);
  const metrics = createLoadSheddingMetrics(limit, parts);
  const reject = createRejectionHandler(parts);

  return (request, response) => {
    if (isExempt(request)) {
      handler(request, response);
      return;
    }
    const nowMs = performance.now();
    if (limit.isAdjustmentDue(nowMs)) {
      inFlight.evictIdle(nowMs);
      limit.adjust(nowMs);
      metrics.update(nowMs);
    }
    const key = limit.isReduced ? presentedCredential(request) : null;
    const reason = inFlight.rejectionReason(key, nowMs);
    if (reason === null) {
      inFlight.add(request, response, { key, nowMs });
      handler(request, response);
    } else {
      limit.onReject();
      metrics.onReject(reason);
      reject(request, response);
    }
  };
}

/** Whoever looks after an overloaded server needs these most. However often they are asked for, what they tell is found once. */
const EXEMPT_PATHS: ReadonlySet<string> = new Set(["/health/live", "/health/ready", "/metrics"]);

function isExempt({ url = "" }: IncomingMessage): boolean {
  const queryStart = url.indexOf("?");
  return EXEMPT_PATHS.has(queryStart === -1 ? url : url.slice(0, queryStart));
}

/**
 * Who asks, as far as that can be told without looking it up. The door comes before rate limits, so one who floods it would
 * shut out the others: half of the places is for them.
 */
function presentedCredential({ headers }: IncomingMessage): string {
  return String(headers["x-api-key"] ?? headers.authorization ?? headers.cookie ?? "");
}
