/** Request validation and job serialisation of the baseline, reduced to what the comparison needs. */
import { toTypedId } from "../../src/core/ids.ts";
import { FIELDS } from "./statements.ts";

/** The headers of every Waymark response. */
export const DEFAULT_HEADERS = Object.entries({
  "Content-Security-Policy": "default-src 'none';frame-ancestors 'none'",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Origin-Agent-Cluster": "?1",
  "Referrer-Policy": "no-referrer",
  "Strict-Transport-Security": "max-age=31536000; includeSubDomains",
  "X-Content-Type-Options": "nosniff",
  "X-DNS-Prefetch-Control": "off",
  "X-Download-Options": "noopen",
  "X-Frame-Options": "SAMEORIGIN",
  "X-Permitted-Cross-Domain-Policies": "none",
  "X-XSS-Protection": "0",
  "Cache-Control": "no-store",
  Vary: "Accept-Encoding",
  "Content-Type": "application/json; charset=utf-8",
}).flat();

export type Row = Record<string, string | number | boolean | null>;
export type Patch = Record<string, unknown>;

/** An error with its HTTP status; the response contains the message. */
export class RequestError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Returns the editable fields of `body`, checked for type and limits; throws RequestError 400. */
export function readPatch(body: unknown, statuses: ReadonlySet<string>): Patch {
  const patch: Patch = {};
  let any = false;
  for (const [name, value] of Object.entries(body as Patch)) {
    const field = FIELDS.get(name);
    if (!field) continue;
    if (value !== null && typeof value !== field.type)
      throw new RequestError(400, `${name} must be a ${field.type}`);
    if (
      typeof value === "string" &&
      (value.length > field.max || !value.isWellFormed() || value.includes("\0"))
    )
      throw new RequestError(400, `${name} is wrong`);
    if (name === "normalized_status" && !statuses.has(value as string))
      throw new RequestError(400, `${name} is not a known status`);
    if (field.day && value !== null) readDay(value as string);
    patch[name] = value;
    any = true;
  }
  if (!any) throw new RequestError(400, "No editable fields were provided");
  return patch;
}

export function readText(value: unknown, max: number): string {
  if (typeof value !== "string" || value === "" || value.length > max)
    throw new RequestError(400, `must be a text of at most ${max}`);
  return value;
}

export function readNumber(text: string | null, defaultValue: number, max: number): number {
  if (text === null) return defaultValue;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > max)
    throw new RequestError(400, `must be a whole number from 1 to ${max}`);
  return value;
}

export function readDay(text: string | null): string | null {
  if (text !== null && (!/^\d{4}-\d\d-\d\d$/.test(text) || Number.isNaN(Date.parse(text))))
    throw new RequestError(400, "must be a date");
  return text;
}

export function toWire(row: Row): object {
  const { id, created_at: created, updated_at: updated, ...rest } = row;
  return {
    id: toTypedId("job", id as string),
    marking_number: rest["marking_number"],
    batch_number: rest["batch_number"],
    group_code: rest["group_code"],
    piece_quantity: rest["piece_quantity"],
    labels: rest["labels"],
    pts: rest["pts"],
    weight: rest["weight"],
    recipient_name: rest["recipient_name"],
    recipient_contact: rest["recipient_contact"],
    delivery_address: rest["delivery_address"],
    postal_code: rest["postal_code"],
    scheduled_date: rest["scheduled_date"],
    instructions: rest["instructions"],
    normalized_status: rest["normalized_status"],
    failure_reason: rest["failure_reason"],
    scheduled_delivery_date: rest["scheduled_delivery_date"],
    scheduled_delivery_pending: rest["scheduled_delivery_pending"],
    provider_status: rest["provider_status"],
    created_at: isoTime(created as string),
    updated_at: isoTime(updated as string),
    agent: organization(rest["agent_id"], rest["agent_name"]),
    contractor: rest["contractor_id"] && organization(rest["contractor_id"], rest["contractor_name"]),
    version: rest["version"],
  };
}

function organization(id: unknown, name: unknown): object {
  return { id: toTypedId("org", id as string), name };
}

function isoTime(text: string): string {
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, text.indexOf("+", 19)).padEnd(3, "0")}Z`;
}
