/**
 * Idempotency-Key: a request that changed something is stored with its answer in the transaction of the change, and for 24
 * hours a repeat gets that answer. A request that changed nothing leaves no record, so a repeat runs again.
 */
import { createHash } from "node:crypto";
import type { Request } from "express";
import type { Database, Queryable, Transaction } from "../../platform/postgres/database.ts";
import { AppError, badRequest, invariant } from "../../platform/errors.ts";
import { sql } from "../../platform/postgres/sql.ts";
import type { RouteResult, ChangeResult, ChangeHandler, RouteHandler } from "../route-result.ts";
import { rawBody } from "../body.ts";
import { principalOf } from "../context.ts";

interface KeyedRequest {
  organizationId: string;
  route: string;
  key: string;
  /** SHA-256 of path, query, If-Match and body. */
  fingerprint: Buffer;
}

const KEY_PATTERN = /^[\x21-\x7e]{1,255}$/;

/** `handler` with Idempotency-Key honoured; `route` is the part of the key's scope that names it. */
export function idempotent(database: Database, route: string, handler: ChangeHandler): RouteHandler {
  return async (request, response) => {
    const key = request.get("idempotency-key");
    if (key === undefined) return await handler(request, response);
    if (!KEY_PATTERN.test(key)) throw invalidKey();

    const { organizationId } = principalOf(response);
    const keyed: KeyedRequest = { organizationId, route, key, fingerprint: fingerprintOf(request) };
    const run = (tx: Transaction) => runOnce(tx, keyed, () => handler(request, response, tx));
    const answer = await database.tryTransaction(lockId(keyed), run, ({ changed }) =>
      changed ? "commit" : "rollback",
    );
    // Another repeat may hold the lock, only to read the stored answer.
    return answer ?? (await findStoredResult(database, keyed)) ?? throwInFlight();
  };
}

async function runOnce(
  tx: Transaction,
  keyed: KeyedRequest,
  handle: () => Promise<ChangeResult>,
): Promise<ChangeResult> {
  const stored = await findStoredResult(tx, keyed);
  if (stored) return { ...stored, changed: false };
  const answer = await handle();
  if (answer.changed) await storeResult(tx, keyed, answer);
  return answer;
}

/** The answer to repeat; null if none is stored. Throws UnprocessableEntityException if the key came with another request. */
async function findStoredResult(
  database: Queryable,
  { organizationId, route, key, fingerprint }: KeyedRequest,
): Promise<RouteResult | null> {
  const [row] = await database.query<{ same: boolean; answer: string }>(sql`
    select fingerprint = ${fingerprint} as same, answer from idempotency_record
    where organization_id = ${organizationId} and route = ${route} and key = ${key} and expires_at > now()`);
  if (!row) return null;
  if (!row.same) {
    throw new AppError("UnprocessableEntityException", "This Idempotency-Key was used with another request");
  }
  const { data, headers } = JSON.parse(row.answer) as RouteResult;
  return { data, headers: { ...headers, "Idempotency-Replayed": "true" } };
}

/** Replaces an expired record, if there is one. */
async function storeResult(
  tx: Transaction,
  { organizationId, route, key, fingerprint }: KeyedRequest,
  { data, headers }: RouteResult,
): Promise<void> {
  const answer = JSON.stringify({ data, headers });
  const rows = await tx.query(sql`
    insert into idempotency_record as record (organization_id, route, key, fingerprint, answer, bytes, expires_at)
    values (${organizationId}, ${route}, ${key}, ${fingerprint}, ${answer}, ${Buffer.byteLength(answer)},
      now() + interval '24 hours')
    on conflict (organization_id, route, key) do update set
      fingerprint = excluded.fingerprint, answer = excluded.answer, bytes = excluded.bytes, expires_at = excluded.expires_at
    where record.expires_at <= now()
    returning 1`);
  invariant(rows.length === 1, "the lock is held, so there is only an expired record");
}

function fingerprintOf(request: Request): Buffer {
  const head = JSON.stringify([request.originalUrl, request.get("if-match") ?? null]);
  return createHash("sha256").update(`${head}\n`).update(rawBody(request)).digest();
}

/** Held while a request with the key is in flight. Two keys with the same lock could at worst get a 409 once. */
function lockId({ organizationId, route, key }: KeyedRequest): bigint {
  return createHash("sha256").update(`${organizationId}\n${route}\n${key}`).digest().readBigInt64BE();
}

function throwInFlight(): never {
  throw new AppError("ConflictException", "A request with this Idempotency-Key is still being answered");
}

function invalidKey(): AppError {
  const message = "must be 1 to 255 visible ASCII characters";
  return badRequest([{ location: "header", field: "Idempotency-Key", code: "malformed", message }]);
}
