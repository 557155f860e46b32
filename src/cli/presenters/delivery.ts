/** Output of a delivery and its attempts, as JSON and as text. */
import type { AttemptView, DeliveryView, DeliveryWithAttempts } from "../../webhooks/api.ts";
import { formatList, escapeControlCharacters } from "../output.ts";

export function presentDelivery(delivery: DeliveryView) {
  return {
    id: delivery.id,
    endpoint_id: delivery.endpointId,
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    job_id: delivery.jobId,
    marking_number: delivery.markingNumber,
    origin: delivery.origin,
    status: delivery.status,
    attempts: delivery.attempts,
    outcome: delivery.outcome,
    next_attempt_at: delivery.nextAttemptAt,
    is_in_flight: delivery.isInFlight,
    created_at: delivery.createdAt,
    finished_at: delivery.finishedAt,
  };
}

export function presentDeliveryWithAttempts({ delivery, attempts, requestBody }: DeliveryWithAttempts) {
  return {
    ...presentDelivery(delivery),
    request_body: requestBody,
    attempt_log: attempts.map((attempt) => ({
      id: attempt.id,
      number: attempt.number,
      started_at: attempt.startedAt,
      duration_ms: attempt.durationMs,
      outcome: attempt.outcome,
      http_status: attempt.httpStatus,
      error: attempt.error,
      request_headers: attempt.requestHeaders,
      response_headers: attempt.responseHeaders,
      response_body: attempt.responseBody,
    })),
  };
}

/** Returns the delivery, its attempts with headers and the request body as text for a terminal. */
export function formatDelivery({ delivery, attempts, requestBody }: DeliveryWithAttempts): string {
  const summary = {
    Delivery: delivery.id,
    Endpoint: delivery.endpointId,
    Event: `${delivery.eventId} (${delivery.eventType}${delivery.origin === "event" ? "" : `, ${delivery.origin}`})`,
    ...(delivery.markingNumber !== null && { "Marking Number": delivery.markingNumber }),
    Status: formatStatus(delivery),
    Created: delivery.createdAt,
  };
  const body = requestBody === null ? "(the event has been purged)" : escapeControlCharacters(requestBody);
  return [formatList(summary), ...attempts.map(formatAttempt), `Request body\n  ${body}`].join("\n\n");
}

function formatStatus({ status, outcome, attempts, nextAttemptAt, isInFlight }: DeliveryView): string {
  const after = attempts === 0 ? "" : ` after ${attempts} ${attempts === 1 ? "attempt" : "attempts"}`;
  const last = outcome === null || outcome === status ? "" : `, ${outcome}`;
  const next = isInFlight ? ", in flight" : nextAttemptAt === null ? "" : `, next attempt ${nextAttemptAt}`;
  return `${status}${after}${last}${next}`;
}

function formatAttempt(attempt: AttemptView): string {
  const result = attempt.httpStatus === null ? attempt.outcome : `HTTP ${attempt.httpStatus}`;
  const lines = [`Attempt ${attempt.number}: ${result} in ${attempt.durationMs} ms, ${attempt.startedAt}`];
  if (attempt.error !== null) lines.push(`  ${escapeControlCharacters(attempt.error)}`);
  lines.push(
    ...formatHeaders(">", attempt.requestHeaders),
    ...formatHeaders("<", attempt.responseHeaders ?? {}),
  );
  if (attempt.responseBody) lines.push(`  < ${escapeControlCharacters(attempt.responseBody)}`);
  return lines.join("\n");
}

function formatHeaders(arrow: string, headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).map(([name, value]) =>
    escapeControlCharacters(`  ${arrow} ${name}: ${value}`),
  );
}
