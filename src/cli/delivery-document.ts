/** A delivery and its attempts as commands show them. */
import type { DeliveryWithAttempts } from "../webhooks/delivery.queries.ts";
import type { AttemptView, DeliveryView } from "../webhooks/delivery.view.ts";
import { listOf, printable } from "./output.ts";

export function deliverySummary(delivery: DeliveryView) {
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
    is_being_sent: delivery.isBeingSent,
    created_at: delivery.createdAt,
    finished_at: delivery.finishedAt,
  };
}

export function deliveryDocument({ delivery, attempts, requestBody }: DeliveryWithAttempts) {
  return {
    ...deliverySummary(delivery),
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

/** Everything there is to see, for a person. */
export function linesOfDelivery({ delivery, attempts, requestBody }: DeliveryWithAttempts): string {
  const about = {
    Delivery: delivery.id,
    Endpoint: delivery.endpointId,
    Event: `${delivery.eventId} (${delivery.eventType}${delivery.origin === "event" ? "" : `, ${delivery.origin}`})`,
    ...(delivery.markingNumber !== null && { "Marking Number": delivery.markingNumber }),
    Status: stateOf(delivery),
    Made: delivery.createdAt,
  };
  const body = requestBody === null ? "(the event is gone)" : printable(requestBody);
  return [listOf(about), ...attempts.map(linesOfAttempt), `Request body\n  ${body}`].join("\n\n");
}

function stateOf({ status, outcome, attempts, nextAttemptAt, isBeingSent }: DeliveryView): string {
  const after = attempts === 0 ? "" : ` after ${attempts} ${attempts === 1 ? "attempt" : "attempts"}`;
  const last = outcome === null || outcome === status ? "" : `, ${outcome}`;
  const next = isBeingSent ? ", being sent" : nextAttemptAt === null ? "" : `, next ${nextAttemptAt}`;
  return `${status}${after}${last}${next}`;
}

function linesOfAttempt(attempt: AttemptView): string {
  const answer = attempt.httpStatus === null ? attempt.outcome : `HTTP ${attempt.httpStatus}`;
  const lines = [`Attempt ${attempt.number}: ${answer} in ${attempt.durationMs} ms, ${attempt.startedAt}`];
  if (attempt.error !== null) lines.push(`  ${printable(attempt.error)}`);
  lines.push(...headerLines(">", attempt.requestHeaders), ...headerLines("<", attempt.responseHeaders ?? {}));
  if (attempt.responseBody) lines.push(`  < ${printable(attempt.responseBody)}`);
  return lines.join("\n");
}

function headerLines(arrow: string, headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).map(([name, value]) => printable(`  ${arrow} ${name}: ${value}`));
}
