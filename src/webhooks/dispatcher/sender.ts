/** One attempt of one delivery: sign, post, and say what came of it. It decides nothing and touches no database. */
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
    /** The owner's own headers; those that cannot be sent are left out. */
    headers: Readonly<Record<string, string>>;
    /** The present secret first, then former ones that still sign. */
    secrets: readonly (string | KeyObject)[];
  };
  /** The event's id: the same at every attempt, so that a receiver knows a repeat. */
  webhookId: string;
  /** `restore`: the service went back to a backup, and may have sent this before without knowing it. */
  redelivery?: "restore" | undefined;
  body: string;
}

export interface AttemptResult {
  startedAtMs: number;
  durationMs: number;
  outcome: Outcome;
  /** As sent, in lower case, with the owner's values masked. */
  requestHeaders: Record<string, string>;
  /** The ones worth keeping; null where no answer came. */
  responseHeaders: ResponseHeaders | null;
  /** At most 4 KiB of the answer as text; null where no answer came. */
  responseBody: string | null;
}

export interface Sender {
  /** One HTTP request. Resolves whatever the receiver does. */
  send(request: SendRequest): Promise<AttemptResult>;
}

export interface SenderDeps {
  http: HttpClient;
  clock: Clock;
  /** Where a receiver's operator reads what this is; part of the user agent. Null: nowhere. */
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

/** Checked again although saving did: a row may be older than a rule. Null where there are none, which is the rule. */
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
    return "The receiver answered 410 Gone, so the endpoint is disabled. Resume it to send again.";
  if (status >= 300 && status <= 399)
    return `The receiver answered ${status}. Redirects are not followed: set the endpoint's URL to where it points.`;
  if (status === 401 || status === 403)
    return `The receiver answered ${status}. Let it accept webhooks by their signature, or add the header that it asks for to the endpoint.`;
  if (status === 404 || status === 405)
    return `The receiver answered ${status}. Check the path of the endpoint's URL, and that it accepts POST.`;
  if (status === 429) return "The receiver answered 429: too many requests. Lower the endpoint's rate limit.";
  return `The receiver answered ${status}. Any 2xx counts as delivered.`;
}
