/**
 * Load shedding: rejects requests that cannot be answered in time, before their credentials and bodies are read.
 * See docs/decisions/0037-a-limit-that-finds-itself.md.
 */
import type { IncomingMessage, RequestListener } from "node:http";
import type { Registry } from "prom-client";
import type { Logger } from "../../platform/logger.ts";
import { ConcurrencyLimit } from "./concurrency-limit.ts";
import { createRejectionHandler, type RejectionDeps } from "./rejection.ts";
import { createLoadSheddingMetrics } from "./metrics.ts";
import { InFlightRequests } from "./in-flight-requests.ts";

export interface LoadSheddingDeps extends RejectionDeps {
  /** Number of connections to PostgreSQL. */
  poolSize: number;
  logger: Logger;
  registry: Registry;
}

/** Maximum requests in flight per connection to PostgreSQL, so that an idle server accepts bursts. */
const MAX_REQUESTS_PER_CONNECTION = 20;

/** Wraps `handler`: requests that it could not answer in time get 503. */
export function withLoadShedding(handler: RequestListener, deps: LoadSheddingDeps): RequestListener {
  const limit = new ConcurrencyLimit({ max: deps.poolSize * MAX_REQUESTS_PER_CONNECTION });
  const inFlight = new InFlightRequests(limit);
  const metrics = createLoadSheddingMetrics(limit, deps);
  const reject = createRejectionHandler(deps);

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

/** Operators need these most during an overload. They are cheap, because concurrent requests share one result. */
const EXEMPT_PATHS: ReadonlySet<string> = new Set(["/health/live", "/health/ready", "/metrics"]);

function isExempt({ url = "" }: IncomingMessage): boolean {
  const queryStart = url.indexOf("?");
  return EXEMPT_PATHS.has(queryStart === -1 ? url : url.slice(0, queryStart));
}

/**
 * Returns the unverified credential of a request. Load shedding comes before rate limits, so one client could use the whole
 * limit; each credential gets at most half of it.
 */
function presentedCredential({ headers }: IncomingMessage): string {
  return String(headers["x-api-key"] ?? headers.authorization ?? headers.cookie ?? "");
}
