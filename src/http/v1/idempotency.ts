/**
 * Idempotency-Key: the response of a request that changed something is stored in the same transaction and returned to
 * repeated requests for 24 hours. A request that changed nothing is not stored, so it runs again.
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

/** Wraps `handler` with Idempotency-Key support. Keys are scoped to the organisation and `route`. */
export function idempotent(database: Database, route: string, handler: ChangeHandler): RouteHandler {
  return async (request, response) => {
    const key = request.get("idempotency-key");
    if (key === undefined) return await handler(request, response);
    if (!KEY_PATTERN.test(key)) throw invalidKey();

    const { organizationId } = principalOf(response);
    const keyed: KeyedRequest = { organizationId, route, key, fingerprint: fingerprintOf(request) };
    const run = (tx: Transaction) => runOnce(tx, keyed, () => handler(request, response, tx));
    const result = await database.tryTransaction(lockId(keyed), run, ({ changed }) =>
      changed ? "commit" : "rollback",
    );
    // The lock may be held by another repeated request that only reads the stored response.
    return result ?? (await findStoredResult(database, keyed)) ?? throwInFlight();
  };
}

async function runOnce(
  tx: Transaction,
  keyed: KeyedRequest,
  handle: () => Promise<ChangeResult>,
): Promise<ChangeResult> {
  const stored = await findStoredResult(tx, keyed);
  if (stored) return { ...stored, changed: false };
  const result = await handle();
  if (result.changed) await storeResult(tx, keyed, result);
  return result;
}

/** Returns the stored response or null. Throws UnprocessableEntityException if the key was used for a different request. */
async function findStoredResult(
  database: Queryable,
  { organizationId, route, key, fingerprint }: KeyedRequest,
): Promise<RouteResult | null> {
  const [row] = await database.query<{ same: boolean; answer: string }>(sql`
    select fingerprint = ${fingerprint} as same, answer from idempotency_record
    where organization_id = ${organizationId} and route = ${route} and key = ${key} and expires_at > now()`);
  if (!row) return null;
  if (!row.same) {
    throw new AppError(
      "UnprocessableEntityException",
      "This Idempotency-Key was already used for a different request",
    );
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

/** Advisory lock held while a request with the key is in flight. A hash collision causes at worst one wrong 409. */
function lockId({ organizationId, route, key }: KeyedRequest): bigint {
  return createHash("sha256").update(`${organizationId}\n${route}\n${key}`).digest().readBigInt64BE();
}

function throwInFlight(): never {
  throw new AppError("ConflictException", "A request with this Idempotency-Key is still in progress");
}

function invalidKey(): AppError {
  const message = "must be 1 to 255 visible ASCII characters";
  return badRequest([{ location: "header", field: "Idempotency-Key", code: "malformed", message }]);
}
