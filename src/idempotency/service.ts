/**
 * Runs a keyed request at most once: its response is stored in the transaction of its change and returned to repeated requests
 * for 24 hours. A request that changed nothing is not stored, so it runs again.
 */
import { createHash } from "node:crypto";
import { AppError, badRequest, problemIn } from "../core/errors.ts";
import type { Database, Queryable } from "../core/postgres/database.ts";
import type { Transaction } from "../core/postgres/transaction.ts";
import {
  findResponse,
  storeResponse,
  type KeyedRequest,
  type StoredResponse,
} from "./stored-response.sql.ts";
import { isObject } from "../core/json.ts";

/** The response of a request that runs for the first time. */
export interface FirstResponse extends StoredResponse {
  changed: boolean;
  /** Members of `data` that are stored as null, such as a new key. */
  secrets?: readonly string[];
}

/** The first request with the key is in progress. */
export class KeyInUseError extends AppError {
  constructor() {
    super("ConflictException", "A request with this Idempotency-Key is still in progress");
  }
}

export class IdempotencyService {
  readonly #database: Database;

  constructor({ database }: { database: Database }) {
    this.#database = database;
  }

  /** Returns the stored response as `runOnce` does, or null if there is none yet. */
  async findReplay(request: KeyedRequest): Promise<StoredResponse | null> {
    return await findReplay(this.#database, request);
  }

  /**
   * Returns the result of `handle`, or the stored response with the header `Idempotency-Replayed`. Throws
   * UnprocessableEntityException if the key was used for a different request, and KeyInUseError. `handle` must use no other
   * connection than `tx`. Without a request, `handle` runs without a transaction.
   */
  async runOnce<Response extends FirstResponse>(
    request: KeyedRequest | null,
    handle: (tx?: Transaction) => Promise<Response>,
  ): Promise<Response | StoredResponse> {
    if (request === null) return await handle();
    const run = async (tx: Transaction) => {
      const stored = await findReplay(tx, request);
      if (stored) return { ...stored, changed: false };
      const result = await handle(tx);
      if (result.changed) await storeResponse(tx, request, withoutSecrets(result));
      return result;
    };
    const result = await this.#database.tryTransaction(lockId(request), run, ({ changed }) =>
      changed ? "commit" : "rollback",
    );
    // The lock may be held by another repeated request that only reads the stored response.
    const replay = result ?? (await this.findReplay(request));
    if (replay) return replay;
    throw new KeyInUseError();
  }
}

function withoutSecrets({ data, headers, secrets = [] }: FirstResponse): StoredResponse {
  const nulls = Object.fromEntries(secrets.map((name) => [name, null]));
  return {
    data: secrets.length === 0 ? data : { ...(data as object), ...nulls },
    ...(headers && { headers }),
  };
}

async function findReplay(queryable: Queryable, request: KeyedRequest): Promise<StoredResponse | null> {
  const stored = await findResponse(queryable, request);
  if (!stored) return null;
  if (!stored.isSame)
    throw new AppError(
      "UnprocessableEntityException",
      `This Idempotency-Key was already used for a different request, ${stored.requestId}`,
      { details: { request_id: stored.requestId, at: stored.at } },
    );
  const { data, headers } = stored.response;
  return { data, headers: { ...headers, "Idempotency-Replayed": "true" } };
}

/** Advisory lock held while a request with the key is in flight. A hash collision causes at worst one wrong 409. */
export function lockId({
  organizationId,
  route,
  key,
}: Pick<KeyedRequest, "organizationId" | "route" | "key">): bigint {
  return createHash("sha256").update(`${organizationId}\n${route}\n${key}`).digest().readBigInt64BE();
}

const KEY_PATTERN = /^[\x21-\x7e]{1,255}$/;

/** `parts`: everything that makes a repeated request the same. Throws BadRequestException for a malformed key. */
export function keyedRequest(
  key: string,
  { parts, ...request }: Omit<KeyedRequest, "key" | "fingerprint"> & { parts: readonly unknown[] },
): KeyedRequest {
  if (!KEY_PATTERN.test(key)) throw keyProblem("malformed", "must be 1 to 255 visible ASCII characters");
  const fingerprint = createHash("sha256")
    .update(JSON.stringify(sorted(parts)))
    .digest();
  return { ...request, key, fingerprint };
}

export function keyProblem(code: string, message: string): AppError {
  return badRequest([problemIn("header")("Idempotency-Key", code, message)]);
}

/** Deeper than any value that an operation reads. */
const MAX_DEPTH = 11;

/** Returns the value with the names of its objects in order, and without what is nested too deeply. */
function sorted(value: unknown, depth = 0): unknown {
  if (depth > MAX_DEPTH) return null;
  if (Array.isArray(value)) return value.map((item) => sorted(item, depth + 1));
  if (!isObject(value) || value instanceof Date) return value;
  const names = Object.keys(value).toSorted();
  return Object.fromEntries(names.map((name) => [name, sorted(value[name], depth + 1)]));
}
