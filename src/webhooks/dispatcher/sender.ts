/** Makes one delivery attempt: signs and posts the request and returns the result. Uses no database. */
import type { KeyObject } from "node:crypto";
import type { Clock } from "../../platform/clock.ts";
import type { OutgoingResult, ResponseHeaders } from "../../platform/http-client/request.ts";
import type { HttpClient } from "../../platform/http-client/client.ts";
import type { Tracing } from "../../platform/tracing/tracing.ts";
import { headerProblem, maskHeaders } from "../endpoints/custom-headers.ts";
import { traceAttempt } from "./tracing.ts";
import type { Outcome } from "./outcome.ts";
import { sign } from "../signing/signature.ts";

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

export interface AttemptResult {
  startedAtMs: number;
  durationMs: number;
  outcome: Outcome;
  /** As sent, with lower-case names and the values of custom headers masked. */
  requestHeaders: Record<string, string>;
  /** A selection; null without a response. */
  responseHeaders: ResponseHeaders | null;
  /** The first 4 KiB as text; null without a response. */
  responseBody: string | null;
}

export interface Sender {
  /** Sends one HTTP request. Never rejects for anything that the receiver does. */
  send(request: SendRequest): Promise<AttemptResult>;
}

export interface SenderDeps {
  http: HttpClient;
  clock: Clock;
  /** Documentation URL in the user agent; null for none. */
  docsUrl: string | null;
  tracing?: Tracing | undefined;
}

export function createSender({ http, clock, docsUrl, tracing }: SenderDeps): Sender {
  const userAgent = docsUrl === null ? "Waymark-Webhooks/1.0" : `Waymark-Webhooks/1.0 (+${docsUrl})`;
  return {
    async send({ endpoint, webhookId, redelivery, body }) {
      const startedAtMs = clock.now();
      const timestampS = Math.floor(startedAtMs / 1000);
      const standardHeaders = {
        "content-type": "application/json",
        "user-agent": userAgent,
        "webhook-id": webhookId,
        "webhook-timestamp": String(timestampS),
        "webhook-signature": sign(endpoint.secrets, { id: webhookId, timestampS, body }),
        ...(redelivery && { "webhook-redelivery": redelivery }),
      };
      const customHeaders = sendableHeaders(endpoint.headers);
      const headers = customHeaders ? { ...customHeaders, ...standardHeaders } : standardHeaders;
      const post = (): Promise<OutgoingResult> => http.post({ url: endpoint.url, headers, body });
      const result = await (tracing ? traceAttempt(tracing, endpoint.url, post) : post());
      return {
        startedAtMs,
        durationMs: result.durationMs,
        outcome: toOutcome(result),
        requestHeaders: customHeaders
          ? { ...standardHeaders, ...maskHeaders(customHeaders) }
          : standardHeaders,
        responseHeaders: result.kind === "response" ? result.headers : null,
        responseBody: result.kind === "response" ? result.bodyText : null,
      };
    },
  };
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
    return { class: result.class, status: null, message: result.message, retryAfter: null, location: null };
  const { status, headers } = result;
  const delivered = status >= 200 && status <= 299;
  return {
    class: delivered ? "delivered" : `http_${status}`,
    status,
    message: delivered ? null : failureMessage(status),
    retryAfter: headers["retry-after"] ?? null,
    location: headers["location"] ?? null,
  };
}

function failureMessage(status: number): string {
  if (status === 410)
    return "The receiver returned 410 Gone, so the endpoint was disabled. Resume it to deliver again.";
  if (status >= 300 && status <= 399)
    return `The receiver returned ${status}. Redirects are not followed: set the endpoint's URL to the target of the redirect.`;
  if (status === 401 || status === 403)
    return `The receiver returned ${status}. Accept webhooks by their signature, or add the required header to the endpoint.`;
  if (status === 404 || status === 405)
    return `The receiver returned ${status}. Check the path of the endpoint's URL and that it accepts POST.`;
  if (status === 429) return "The receiver returned 429 Too Many Requests. Lower the endpoint's rate limit.";
  return `The receiver returned ${status}. Only a 2xx status counts as delivered.`;
}
