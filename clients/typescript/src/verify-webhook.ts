/** Verifies webhook requests. */
import { WaymarkError } from "./errors.ts";
import type { Event, Job, WebhookTestEvent } from "./generated/api.ts";
import { isSignature, type SignedMessage } from "./signature.ts";

/** The request is not from Waymark, or too old. Answer it with 400. */
export class WebhookVerificationError extends WaymarkError {
  override readonly name: string = "WebhookVerificationError";
}

/** An event of a webhook. New types may be added: `isJobEvent` tells whether `data` has a whole job. */
export interface WebhookEvent extends Omit<Event, "data"> {
  data: Event["data"] | WebhookTestEvent["data"] | Record<string, unknown>;
}

/** An event with the whole job after the change. */
export type JobEvent = Event & { data: { job: Job } };

/** Headers as `Headers` of any implementation, as Node's `request.headers`, or as any other object with a member per header. */
export type WebhookHeaders = HeadersLike | Readonly<Record<string, string | readonly string[] | undefined>>;

interface HeadersLike {
  get(name: string): string | null | undefined;
}

export interface VerifyOptions {
  /** How much older or newer than now `webhook-timestamp` may be, in seconds. Default: 300. */
  toleranceS?: number | undefined;
  /** The current time in ms. Default: `Date.now()`. */
  nowMs?: number | undefined;
}

/**
 * Returns the event of a webhook request. `rawBody` is the exact body, not parsed JSON. Pass several secrets while you replace
 * one. Throws a WebhookVerificationError if no signature fits one of `secrets`, or if the timestamp is out of tolerance.
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { toleranceS = 300, nowMs = Date.now() }: VerifyOptions = {},
): Promise<WebhookEvent> {
  const id = requiredHeader(headers, "webhook-id");
  const timestamp = requiredHeader(headers, "webhook-timestamp");
  const signatures = requiredHeader(headers, "webhook-signature");
  if (!/^\d{1,12}$/.test(timestamp))
    throw new WebhookVerificationError("webhook-timestamp is not a number of seconds");
  if (Math.abs(nowMs / 1_000 - Number(timestamp)) > toleranceS)
    throw new WebhookVerificationError(`webhook-timestamp differs by more than ${toleranceS} s from now`);
  const body = toBytes(rawBody);
  const list = [secrets].flat();
  // A variable of the environment that is not set.
  if (!list.every((secret: unknown) => typeof secret === "string" && secret !== ""))
    throw new TypeError("Each secret must be text such as whsec_…; one of them is missing");
  if (!(await hasValidSignature({ id, timestamp, body }, signatures, list)))
    throw new WebhookVerificationError("webhook-signature fits none of the secrets");
  return parseEvent(body);
}

/**
 * True if the event, of a webhook or the feed, has a whole job. `job.unassigned` and `job.deleted` have only the identity of a
 * job that you can no longer see.
 */
export function isJobEvent(event: WebhookEvent): event is JobEvent {
  // A type that is newer than the client may have any data.
  const data: unknown = event.data;
  if (typeof data !== "object" || data === null || !("job" in data) || !("sequence" in data)) return false;
  const { job } = data;
  return typeof job === "object" && job !== null && "normalized_status" in job;
}

/** `signatures` has one or more signatures, separated by spaces. Versions other than v1 are ignored. */
async function hasValidSignature(
  message: SignedMessage,
  signatures: string,
  secrets: readonly string[],
): Promise<boolean> {
  if (secrets.length === 0) throw new RangeError("Pass at least one secret");
  const candidates = signatures
    .split(" ")
    .filter((signature) => signature.startsWith("v1,"))
    .map((signature) => signature.slice("v1,".length));
  const checks = secrets.flatMap((secret) =>
    candidates.map((candidate) => isSignature(secret, message, candidate)),
  );
  return (await Promise.all(checks)).includes(true);
}

function requiredHeader(headers: WebhookHeaders, name: string): string {
  const value = hasGet(headers) ? headers.get(name) : headerOf(headers, name);
  if (value === null || value === undefined || value === "")
    throw new WebhookVerificationError(`The header ${name} is missing`);
  return value;
}

/** Each realm and each package has its own `Headers`, so `instanceof` would miss some. */
function hasGet(headers: WebhookHeaders): headers is HeadersLike {
  return typeof headers["get"] === "function";
}

/** Returns null if the header is missing or was sent twice. */
function headerOf(headers: Exclude<WebhookHeaders, HeadersLike>, name: string): string | null {
  const values = Object.entries(headers)
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]) => value ?? []);
  return values.length === 1 ? (values[0] ?? null) : null;
}

function toBytes(body: string | Uint8Array | ArrayBuffer): Uint8Array {
  if (typeof body === "string") return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body;
  // Each realm has its own ArrayBuffer.
  if (Object.prototype.toString.call(body) === "[object ArrayBuffer]") return new Uint8Array(body);
  throw new TypeError(
    "rawBody must be the body as received, and not parsed JSON. Turn body parsing off for this route",
  );
}

function parseEvent(body: Uint8Array): WebhookEvent {
  let event: unknown;
  try {
    event = JSON.parse(new TextDecoder().decode(body));
  } catch (cause) {
    throw new WebhookVerificationError("The body is not JSON", { cause });
  }
  if (typeof event !== "object" || event === null || !("type" in event) || !("data" in event))
    throw new WebhookVerificationError("The body is not an event");
  return event as WebhookEvent;
}
