/**
 * Idempotency-Key: the first request with a key runs, every repeat within 24 hours gets the same answer. A record stands
 * before the work begins, so that a repeat meanwhile is told so (409); if the process dies halfway, the record is free
 * again after a minute and the repeat runs: a PATCH that was done already changes nothing the second time.
 */
import { createHash } from "node:crypto";
import type { Request } from "express";
import type { Queryable } from "../platform/database.ts";
import { AppError, badRequest, type ErrorCode } from "../platform/errors.ts";
import { sql } from "../platform/sql.ts";
import type { Answer, Handler } from "./answer.ts";
import { bodyBytes } from "./body.ts";
import { principalOf } from "./context.ts";

interface RecordKey {
  organizationId: string;
  route: string;
  key: string;
}

/** What is kept: an answer, or a failure that a repeat would meet again. */
type Kept =
  | Answer
  | { error: { code: ErrorCode; message: string; details: unknown; headers: Record<string, string> } };

const KEY = /^[\x21-\x7e]{1,255}$/;

/** `handler` with Idempotency-Key honoured; `route` is the part of the key's scope that names it. */
export function idempotent(database: Queryable, route: string, handler: Handler): Handler {
  return async (request, response) => {
    const key = request.get("idempotency-key");
    if (key === undefined) return await handler(request, response);
    if (!KEY.test(key)) throw badKey();

    const record: RecordKey = { organizationId: principalOf(response).organizationId, route, key };
    const fingerprint = fingerprintOf(request);
    if (!(await claim(database, record, fingerprint)))
      return replay(await findKept(database, record, fingerprint));
    try {
      const answer = await handler(request, response);
      await keep(database, record, answer);
      return answer;
    } catch (error) {
      await (error instanceof AppError && error.status < 500
        ? keep(database, record, toKept(error))
        : release(database, record));
      throw error;
    }
  };
}

/** Removes records past their day, at most `limit` of them, and answers how many. */
export async function purgeIdempotencyRecords(database: Queryable, limit: number): Promise<number> {
  const rows = await database.query(sql`
    delete from idempotency_record where ctid in (
      select ctid from idempotency_record where expires_at < now() limit ${limit}) returning 1`);
  return rows.length;
}

/** True where this request is the first, or the one before died without an answer. */
async function claim(
  database: Queryable,
  { organizationId, route, key }: RecordKey,
  fingerprint: Buffer,
): Promise<boolean> {
  const rows = await database.query(sql`
    insert into idempotency_record as record (organization_id, route, key, fingerprint, locked_until, expires_at)
    values (${organizationId}, ${route}, ${key}, ${fingerprint}, now() + interval '1 minute', now() + interval '24 hours')
    on conflict (organization_id, route, key) do update set
      fingerprint = excluded.fingerprint, answer = null, locked_until = excluded.locked_until, expires_at = excluded.expires_at
    where record.expires_at < now()
      -- Locked for longer than anything is: PostgreSQL's clock was set back since.
      or (record.answer is null and record.fingerprint = excluded.fingerprint
        and (record.locked_until < now() or record.locked_until > now() + interval '2 minutes'))
    returning 1`);
  return rows.length === 1;
}

async function findKept(
  database: Queryable,
  { organizationId, route, key }: RecordKey,
  fingerprint: Buffer,
): Promise<Kept> {
  const [row] = await database.query<{ same: boolean; answer: string | null }>(sql`
    select fingerprint = ${fingerprint} as same, answer from idempotency_record
    where organization_id = ${organizationId} and route = ${route} and key = ${key}`);
  if (row && !row.same) {
    throw new AppError("UnprocessableEntityException", "This Idempotency-Key was used with another request");
  }
  if (!row?.answer)
    throw new AppError("ConflictException", "A request with this Idempotency-Key is still being answered");
  return JSON.parse(row.answer) as Kept;
}

function replay(kept: Kept): Answer {
  const mark = { "Idempotency-Replayed": "true" };
  if (!("error" in kept)) return { data: kept.data, headers: { ...kept.headers, ...mark } };
  const { code, message, details, headers } = kept.error;
  throw new AppError(code, message, { details, headers: { ...headers, ...mark } });
}

/**
 * The work is done and its answer is on the way: that it could not be kept must not turn it into a failure.
 */
async function keep(
  database: Queryable,
  { organizationId, route, key }: RecordKey,
  kept: Kept,
): Promise<void> {
  const saving = database.query(sql`update idempotency_record set answer = ${JSON.stringify(kept)}
    where organization_id = ${organizationId} and route = ${route} and key = ${key} and answer is null`);
  await saving.catch(() => undefined);
}

async function release(database: Queryable, { organizationId, route, key }: RecordKey): Promise<void> {
  const releasing = database.query(sql`delete from idempotency_record
    where organization_id = ${organizationId} and route = ${route} and key = ${key} and answer is null`);
  await releasing.catch(() => undefined);
}

function fingerprintOf(request: Request): Buffer {
  return createHash("sha256").update(`${request.originalUrl}\n`).update(bodyBytes(request)).digest();
}

function toKept({ code, message, details, headers }: AppError): Kept {
  return { error: { code, message, details, headers: { ...headers } } };
}

function badKey(): AppError {
  const message = "must be 1 to 255 visible ASCII characters";
  return badRequest([{ location: "header", field: "Idempotency-Key", code: "malformed", message }]);
}
