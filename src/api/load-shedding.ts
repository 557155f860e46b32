/**
 * Load shedding: rejects requests beyond a limit of requests in flight, before their credentials and bodies are read.
 * See docs/decisions/0063-fixed-limit-of-requests-in-flight.md.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { Counter, Gauge, type Registry } from "prom-client";
import { newRequestId } from "../core/ids.ts";
import { defaultHeaders } from "./default-headers.ts";
import { errorJson, JSON_CONTENT_TYPE } from "./json.ts";
import { type CountedResponse, IN_FLIGHT } from "./context.ts";

export interface LoadSheddingDeps {
  /** Number of connections to PostgreSQL. */
  poolSize: number;
  registry: Registry;
  corsOrigins: readonly string[];
  /** Origins whose pages may call GraphQL. */
  graphqlOrigins: readonly string[];
  /** Returns the URL of the section of the guide about an error code. */
  errorUrl: (code: string) => string;
}

/** In a short burst, requests in flight per connection to PostgreSQL. During an overload it is one: more would only wait. */
const BURST_PER_CONNECTION = 20;
/** Enough to keep the process and PostgreSQL busy. */
const MIN_LIMIT = 4;
/** An overload begins when the lower limit was exceeded for this long, or the higher one was reached. */
const BURST_MS = 300;
/** An overload ends when no request was rejected for this long. */
const RECOVERED_AFTER_MS = 1_000;

/** Operators need these most during an overload. They are cheap, because concurrent requests share one result. */
const EXEMPT_PATHS = /^\/(health\/live|health\/ready|metrics)(\?|$)/;

/** Wraps `handler`: requests beyond the limit get 503. */
export function withLoadShedding(handler: RequestListener, deps: LoadSheddingDeps): RequestListener {
  const inFlight = new InFlight(deps.poolSize);
  const rejections = registerMetrics(deps.registry, inFlight);
  const reject = createRejection(deps);

  return (request, response: CountedResponse) => {
    if (EXEMPT_PATHS.test(request.url ?? "")) {
      handler(request, response);
      return;
    }
    if (!inFlight.hasRoom()) {
      rejections.inc();
      reject(request, response);
      return;
    }
    const finish = (): boolean => inFlight.delete(response);
    inFlight.add(response);
    response[IN_FLIGHT] = inFlight;
    response.once("prefinish", finish);
    response.once("close", finish);
    handler(request, response);
  };
}

/** The requests in flight, by their response. A burst may exceed the limit for a moment, because an idle server answers it quickly. */
class InFlight extends Set<ServerResponse> {
  readonly #sustained: number;
  readonly #burst: number;
  /** Since when more requests than the sustained limit are in flight; null if they are not. */
  #exceededSinceMs: number | null = null;
  #rejectedMs = -Infinity;

  constructor(poolSize: number) {
    super();
    this.#sustained = Math.max(poolSize, MIN_LIMIT);
    this.#burst = poolSize * BURST_PER_CONNECTION;
  }

  limitAt(nowMs: number): number {
    const isBurstTooLong = this.#exceededSinceMs !== null && nowMs - this.#exceededSinceMs >= BURST_MS;
    return isBurstTooLong || nowMs - this.#rejectedMs < RECOVERED_AFTER_MS ? this.#sustained : this.#burst;
  }

  /** False if the next request must be rejected. At the limit, requests that wait for their clients leave. */
  hasRoom(): boolean {
    const nowMs = performance.now();
    if (this.size < this.limitAt(nowMs)) return true;
    for (const response of this) if (isWaitingForClient(response)) this.delete(response);
    if (this.size < this.limitAt(nowMs)) return true;
    this.#rejectedMs = nowMs;
    return false;
  }

  override add(response: ServerResponse): this {
    super.add(response);
    if (this.size > this.#sustained) this.#exceededSinceMs ??= performance.now();
    return this;
  }

  override delete(response: ServerResponse): boolean {
    const wasCounted = super.delete(response);
    if (this.size <= this.#sustained) this.#exceededSinceMs = null;
    return wasCounted;
  }
}

/** True while the client has to send the rest of the body or to read the response. A few dozen of these must not block the server. */
function isWaitingForClient({ req, headersSent }: ServerResponse): boolean {
  // Responses queued on a destroyed connection emit no event.
  return headersSent || !req.complete || req.socket.destroyed;
}

function registerMetrics(registry: Registry, inFlight: InFlight): Counter {
  const limit = new Gauge({
    name: "waymark_http_concurrency_limit",
    help: "Current limit of requests in flight",
    registers: [],
    collect() {
      this.set(inFlight.limitAt(performance.now()));
    },
  });
  const inUse = new Gauge({
    name: "waymark_http_concurrency_in_use",
    help: "Requests in flight, except those waiting for their clients",
    registers: [],
    collect() {
      this.set([...inFlight].filter((response) => !isWaitingForClient(response)).length);
    },
  });
  for (const gauge of [limit, inUse]) registry.registerMetric(gauge);
  return new Counter({
    name: "waymark_http_requests_shed_total",
    help: "Requests rejected with 503 because the server was overloaded",
    registers: [registry],
  });
}

const MESSAGE = "The server is overloaded. Try again shortly.";
const GRAPHQL_TYPE = "application/graphql-response+json";
const baseHeaders = defaultHeaders().flat();

/** Returns a listener that responds 503. Node discards the rest of the request, so the connection stays usable. */
function createRejection({ corsOrigins, graphqlOrigins, errorUrl }: LoadSheddingDeps): RequestListener {
  return (request, response) => {
    const { url = "", headers } = request;
    const isGraphql = /^\/graphql([/?]|$)/.test(url);
    const requestId = newRequestId();
    const text = isGraphql ? graphqlError(requestId, errorUrl) : restError(requestId, errorUrl);
    // Chosen at random, so that rejected clients don't all retry at the same time.
    const retryAfter = String(1 + Math.floor(Math.random() * 3));
    const type = isGraphql ? graphqlType(request) : JSON_CONTENT_TYPE;
    const all = [...baseHeaders, "Content-Type", type, "Content-Length", String(Buffer.byteLength(text))];
    all.push("Retry-After", retryAfter, "X-Request-Id", requestId, "Vary", "Origin");
    const { origin = "" } = headers;
    if ((isGraphql ? graphqlOrigins : corsOrigins).includes(origin))
      all.push(
        "Access-Control-Allow-Origin",
        origin,
        "Access-Control-Expose-Headers",
        "Retry-After,X-Request-Id",
      );
    response.writeHead(503, all);
    response.end(text);
  };
}

function restError(requestId: string, errorUrl: LoadSheddingDeps["errorUrl"]): string {
  const code = "ServiceUnavailableException";
  return errorJson(requestId, { code, message: MESSAGE, details: null, doc_url: errorUrl(code) });
}

function graphqlError(requestId: string, errorUrl: LoadSheddingDeps["errorUrl"]): string {
  const code = "SERVICE_UNAVAILABLE";
  return JSON.stringify({
    errors: [{ message: MESSAGE, extensions: { code, requestId, docUrl: errorUrl(code) } }],
  });
}

/** Returns the media type that `Accept` names first. */
function graphqlType({ headers: { accept = "" } }: IncomingMessage): string {
  const graphqlIndex = accept.indexOf(GRAPHQL_TYPE);
  const jsonIndex = accept.indexOf("application/json");
  const isJson = graphqlIndex === -1 || (jsonIndex !== -1 && jsonIndex < graphqlIndex);
  return isJson ? JSON_CONTENT_TYPE : `${GRAPHQL_TYPE}; charset=utf-8`;
}
