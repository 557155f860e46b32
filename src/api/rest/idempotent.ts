/** Idempotency-Key for routes that change data: a repeated request returns the stored response and changes nothing. */
import { createHash } from "node:crypto";
import type { Request, Response } from "express";
import type { IdempotencyService, KeyedRequest } from "../../idempotency/api.ts";
import type { Transaction } from "../../core/postgres/transaction.ts";
import { principalOf } from "../context.ts";
import { rawBody, type RouteHandler, type RouteResult } from "../json.ts";
import { invalid } from "./parameters.ts";

export interface ChangeResult extends RouteResult {
  /** False if the request changed nothing: a dry run, or new values equal to the old ones. */
  changed: boolean;
  /** Members of `data` that are never stored: null in a replayed response. */
  secrets?: readonly string[];
}

/** Handles a route that changes data. If `tx` is given, it must use no other connection. */
export type ChangeHandler = (request: Request, response: Response, tx?: Transaction) => Promise<ChangeResult>;

const KEY_PATTERN = /^[\x21-\x7e]{1,255}$/;

/** Wraps `handler` with Idempotency-Key support. `route`: its method and name. Keys are scoped to the organisation and route. */
export function idempotent(service: IdempotencyService, route: string, handler: ChangeHandler): RouteHandler {
  return async (request, response) => {
    const keyed = keyedRequest(route, request, response);
    if (keyed === null) return await handler(request, response);
    return await service.runOnce(keyed, (tx) => handler(request, response, tx));
  };
}

/** Returns null for a request without Idempotency-Key. Throws BadRequestException for a malformed one. */
export function keyedRequest(route: string, request: Request, response: Response): KeyedRequest | null {
  const key = request.get("idempotency-key");
  if (key === undefined) return null;
  if (!KEY_PATTERN.test(key)) {
    const message = "must be 1 to 255 visible ASCII characters";
    throw invalid("header", "Idempotency-Key", { code: "malformed", message });
  }
  const { organizationId } = principalOf(response);
  return { organizationId, route, key, fingerprint: fingerprintOf(request) };
}

/** SHA-256 of path, query, If-Match and body. */
function fingerprintOf(request: Request): Buffer {
  const head = JSON.stringify([request.originalUrl, request.get("if-match") ?? null]);
  return createHash("sha256").update(`${head}\n`).update(rawBody(request)).digest();
}
