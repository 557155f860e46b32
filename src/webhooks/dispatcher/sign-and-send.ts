/** Sends leased deliveries: builds each request from its event, signs it, posts it and returns the result. Uses no database. */
import { createHmac, type KeyObject } from "node:crypto";
import { SpanKind } from "@opentelemetry/api";
import { toEventWire } from "../../events/api.ts";
import type { Clock } from "../../core/clock.ts";
import type { HttpClient, OutgoingResult } from "../../core/http-client/client.ts";
import { toTypedId } from "../../core/ids.ts";
import type { Logger } from "../../core/logger.ts";
import { continueTrace, markFailed, startSpan, withSpan } from "../../core/tracing/tracing.ts";
import { headerProblem, maskHeaders } from "../endpoints/custom-headers.ts";
import type { RetryPolicies } from "../retry-policy.ts";
import { signingKey } from "../signing/secrets.ts";
import type { EndpointState, EndpointStates } from "./endpoint-states.ts";
import type { AttemptResult, Lease, Outcome } from "./lease.ts";
import type { DeliveryMetrics } from "./metrics.ts";
import {
  rejectBeforeSend,
  rescheduleWithoutAttempt,
  resolveAttempt,
  type Resolution,
} from "./retry-or-disable.ts";

export interface SendRequest {
  endpoint: {
    url: string;
    /** Custom headers; invalid ones are not sent. */
    headers: Readonly<Record<string, string>>;
    /** The current secret first, then former ones that are still active. */
    secrets: readonly (string | KeyObject)[];
  };
  /** The event's id. It is the same for every attempt, so that receivers can detect duplicates. */
  webhookId: string;
  /** `restore`: a backup was restored, so the delivery may have been sent before. */
  redelivery?: "restore" | undefined;
  body: string;
}

export interface SenderOptions {
  http: HttpClient;
  clock: Clock;
  /** Documentation URL in the user agent; null for none. */
  docsUrl: string | null;
}

export class Sender {
  readonly #options: SenderOptions;
  readonly #userAgent: string;

  constructor(options: SenderOptions) {
    this.#options = options;
    const { docsUrl } = options;
    this.#userAgent = docsUrl === null ? "Waymark-Webhooks/1.0" : `Waymark-Webhooks/1.0 (+${docsUrl})`;
  }

  /** Signs and sends one HTTP request. Never rejects for anything that the receiver does. */
  async send({ endpoint, webhookId, redelivery, body }: SendRequest): Promise<AttemptResult> {
    const { http, clock } = this.#options;
    const startedAtMs = clock.now();
    const timestampS = Math.floor(startedAtMs / 1000);
    const standardHeaders = {
      "content-type": "application/json",
      "user-agent": this.#userAgent,
      "webhook-id": webhookId,
      "webhook-timestamp": String(timestampS),
      "webhook-signature": sign(endpoint.secrets, { id: webhookId, timestampS, body }),
      ...(redelivery && { "webhook-redelivery": redelivery }),
    };
    const customHeaders = sendableHeaders(endpoint.headers);
    const headers = customHeaders ? { ...customHeaders, ...standardHeaders } : standardHeaders;
    const result = await http.post({ url: endpoint.url, headers, body });
    return {
      startedAtMs,
      durationMs: result.durationMs,
      outcome: toOutcome(result),
      requestHeaders: customHeaders ? { ...standardHeaders, ...maskHeaders(customHeaders) } : standardHeaders,
      responseHeaders: result.kind === "response" ? result.headers : null,
      responseBody: result.kind === "response" ? result.bodyText : null,
    };
  }
}

/**
 * The `webhook-signature` header of Standard Webhooks 1.0: a signature of `id.timestamp.body` with each secret, separated by spaces.
 * The package standardwebhooks computes HMAC-SHA256 in JavaScript, which takes ten times as long.
 */
export function sign(
  secrets: readonly (string | KeyObject)[],
  { id, timestampS, body }: { id: string; timestampS: number; body: string },
): string {
  const content = `${id}.${timestampS}.${body}`;
  const signatures = secrets.map((secret) => {
    const key = typeof secret === "string" ? signingKey(secret) : secret;
    return `v1,${createHmac("sha256", key).update(content).digest("base64")}`;
  });
  return signatures.join(" ");
}

/** The valid custom headers in lower case; null if there are none. Checked again, because a row can be older than a rule. */
function sendableHeaders(headers: Readonly<Record<string, string>>): Record<string, string> | null {
  let sendable: Record<string, string> | null = null;
  for (const [name, value] of Object.entries(headers)) {
    if (headerProblem(name, value) === null) (sendable ??= {})[name.toLowerCase()] = value;
  }
  return sendable;
}

function toOutcome(result: OutgoingResult): Outcome {
  if (result.kind === "failure")
    return { class: result.class, status: null, message: result.message, retryAfter: null };
  const { status, headers } = result;
  const delivered = status >= 200 && status <= 299;
  return {
    class: delivered ? "delivered" : `http_${status}`,
    status,
    message: delivered ? null : failureMessage(status),
    retryAfter: headers["retry-after"] ?? null,
  };
}

/** 300 and 304 name no target. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function failureMessage(status: number): string {
  if (status === 410)
    return "The receiver returned 410 Gone, so the endpoint was disabled. Resume it to deliver again.";
  if (REDIRECTS.has(status))
    return `The receiver returned ${status}. Redirects are not followed: set the endpoint's URL to the target of the redirect.`;
  if (status === 401 || status === 403)
    return `The receiver returned ${status}. Accept webhooks by their signature, or add the required header to the endpoint.`;
  if (status === 404 || status === 405)
    return `The receiver returned ${status}. Check the path of the endpoint's URL and that it accepts POST.`;
  if (status === 429) return "The receiver returned 429 Too Many Requests. Lower the endpoint's rate limit.";
  return `The receiver returned ${status}. Only a 2xx status counts as delivered.`;
}

export interface DeliveryDeps {
  sender: Sender;
  retryPolicies: RetryPolicies;
  clock: Clock;
  logger: Logger;
  metrics: DeliveryMetrics;
}

interface DeliveryListeners {
  onResolved(endpointId: string, resolution: Resolution): void;
  /** Called when a delivery has left `size`, after `onResolved`. */
  onFinished(): void;
}

/** Sends leased deliveries, and keeps those in flight in this process. */
export class InFlightDeliveries {
  readonly #deps: DeliveryDeps;
  readonly #endpoints: EndpointStates;
  readonly #listeners: DeliveryListeners;
  readonly #sends = new Set<Promise<void>>();
  /** When the last attempt finished, by the clock's `elapsed`; null before the first. */
  lastFinishedMs: number | null = null;

  constructor(deps: DeliveryDeps, endpoints: EndpointStates, listeners: DeliveryListeners) {
    this.#deps = deps;
    this.#endpoints = endpoints;
    this.#listeners = listeners;
  }

  get size(): number {
    return this.#sends.size;
  }

  /** Resolves when all deliveries that are now in flight have finished. */
  async drained(): Promise<void> {
    await Promise.all(this.#sends);
  }

  /** Resolves when all requests have been started. */
  async sendAll(leases: readonly Lease[]): Promise<void> {
    if (leases.length === 0) return;
    const { clock, logger, metrics, retryPolicies } = this.#deps;
    const versions = new Map(leases.map(({ endpointId, endpoint }) => [endpointId, endpoint.version]));
    // On failure the deliveries are rescheduled below.
    await this.#endpoints.load(versions, clock.elapsed()).catch((error: unknown) => {
      logger.warn({ error: (error as Error).message }, "loading webhook endpoints failed");
    });
    metrics.reclaimed.inc(leases.filter((lease) => lease.isReclaimed).length);
    for (const lease of leases) {
      const state = this.#endpoints.get(lease.endpointId);
      const { schedule } = state?.retryPolicy ?? retryPolicies.live;
      const rejection = rejectBeforeSend(lease, state, schedule);
      if (rejection) this.#listeners.onResolved(lease.endpointId, rejection);
      else if (state) this.#send(lease, state);
    }
  }

  #send(lease: Lease, state: EndpointState): void {
    const { clock } = this.#deps;
    let request: SendRequest;
    try {
      request = buildRequest(lease, state, clock.now());
    } catch (error) {
      this.#onDefect(lease, state, error);
      return;
    }
    state.inFlight += 1;
    state.bucket.take(clock.elapsed());
    // Drop the event, which the body replaces, to save memory until the response arrives.
    const sending = this.#deliver({ ...lease, event: null }, state, request).finally(() => {
      state.inFlight -= 1;
      this.#sends.delete(sending);
      this.#listeners.onFinished();
    });
    this.#sends.add(sending);
  }

  async #deliver(lease: Lease, state: EndpointState, request: SendRequest): Promise<void> {
    const { clock, sender } = this.#deps;
    try {
      const result = await trace(lease, state.url, () => sender.send(request));
      this.lastFinishedMs = clock.elapsed();
      if (state.mode === "live") this.#observe(result);
      this.#endpoints.recordResult(state, result.outcome.class === "delivered", result.durationMs);
      const times = { policy: state.retryPolicy, nowMs: clock.now(), elapsedMs: this.lastFinishedMs };
      this.#listeners.onResolved(
        lease.endpointId,
        resolveAttempt(lease, { circuit: state.circuit, result }, times),
      );
    } catch (error) {
      this.#onDefect(lease, state, error);
    }
  }

  /** Not for test endpoints: a partner's tests of failures must raise no alert. */
  #observe({ outcome: { class: outcome, status }, durationMs }: AttemptResult): void {
    const { attempts, responses } = this.#deps.metrics;
    // A label per status code would make a time series of each bucket for each code.
    attempts.observe({ outcome: outcome.replace(/^(http_\d)\d\d$/, "$1xx") }, durationMs / 1000);
    if (status !== null) responses.inc({ status });
  }

  /** For errors on our side, never the receiver's. The delivery loses one attempt. */
  #onDefect(lease: Lease, { retryPolicy: { schedule } }: EndpointState, error: unknown): void {
    this.#deps.logger.error(
      { delivery: lease.id, error: (error as Error).message },
      "sending a delivery failed",
    );
    this.#listeners.onResolved(lease.endpointId, rescheduleWithoutAttempt(lease, "internal_error", schedule));
  }
}

/**
 * The request for a lease, with the secrets that are active at `nowMs`. The same event always yields the same bytes, so bodies
 * are not stored.
 */
function buildRequest(
  { event, eventId, isAfterRestore }: Lease,
  state: EndpointState,
  nowMs: number,
): SendRequest {
  return {
    endpoint: {
      url: state.url,
      headers: state.headers,
      secrets: state.secrets.filter(({ expiresAtMs }) => expiresAtMs > nowMs).map(({ key }) => key),
    },
    webhookId: toTypedId("evt", eventId),
    redelivery: isAfterRestore ? "restore" : undefined,
    body: event === null ? "" : JSON.stringify(toEventWire(event, state)),
  };
}

/**
 * Runs `send` in a delivery span and a client span, if the event's request was traced. Each retry has separate spans. They have only
 * scheme, host and port of the URL, because the rest can contain a secret.
 */
async function trace(
  lease: Lease,
  endpointUrl: string,
  send: () => Promise<AttemptResult>,
): Promise<AttemptResult> {
  if (lease.traceParent === null) return await send();
  const { hostname = "", port = "", protocol = "" } = URL.parse(endpointUrl) ?? {};
  const delivery = continueTrace(lease.traceParent, "deliver webhook_delivery", {
    kind: SpanKind.CONSUMER,
    attributes: {
      "messaging.system": "waymark",
      "messaging.operation.type": "process",
      "messaging.operation.name": "deliver",
      "messaging.destination.name": "webhook_delivery",
      "messaging.message.id": toTypedId("evt", lease.eventId),
      "waymark.delivery.id": toTypedId("dlv", lease.id),
      "waymark.endpoint.id": toTypedId("whe", lease.endpointId),
      "waymark.attempt.number": lease.attempt,
    },
  });
  return await withSpan(delivery, async () => {
    const post = startSpan("POST", {
      kind: SpanKind.CLIENT,
      attributes: {
        "http.request.method": "POST",
        "server.address": hostname,
        "server.port": Number(port) || (protocol === "http:" ? 80 : 443),
        "url.scheme": protocol.slice(0, -1),
      },
    });
    return await withSpan(post, async () => {
      const result = await send();
      const { class: outcome, status } = result.outcome;
      if (status !== null) post?.setAttribute("http.response.status_code", status);
      if (delivery && outcome !== "delivered") markFailed(delivery, outcome);
      if (post && outcome !== "delivered" && (status ?? 400) >= 400)
        markFailed(post, status === null ? outcome : String(status));
      return result;
    });
  });
}
