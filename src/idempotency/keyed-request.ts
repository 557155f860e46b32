/** Requests with an Idempotency-Key. */
import { createHash } from "node:crypto";
import { type AppError, badRequest, problemIn } from "../core/errors.ts";
import { isObject } from "../core/json.ts";
import type { KeyedRequest } from "./stored-response.sql.ts";

const KEY_PATTERN = /^[\x21-\x7e]{1,255}$/;

/**
 * Returns null for a request without Idempotency-Key. `parts`: everything that makes a repeated request the same. Throws
 * BadRequestException for a malformed key.
 */
export function keyedRequest(
  key: string | undefined,
  { parts, ...request }: Omit<KeyedRequest, "key" | "fingerprint"> & { parts: readonly unknown[] },
): KeyedRequest | null {
  if (key === undefined) return null;
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
