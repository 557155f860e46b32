/** Who is asking, found out and counted before anything of the operation is read. */
import type { Request, RequestHandler } from "express";
import type { KeyHolder } from "../api-keys/api-key.memory.ts";
import type { KeyVerifier } from "../api-keys/api-key.verifier.ts";
import { findPresentedKey, presentedKey } from "../api-keys/presented-key.ts";
import { takeToken } from "../api-keys/rate-limit.ts";
import type { RateLimitStore } from "../api-keys/rate-limit.store.ts";
import type { HttpDoor } from "./http-door.ts";
import { duringVisit } from "./visit.ts";

export interface AuthenticationParts {
  verifier: KeyVerifier;
  /** Null: rate limits are off. */
  store: RateLimitStore | null;
  isProduction: boolean;
}

/** Begins the visit. In production nobody unknown comes further; elsewhere they come as far as introspection. */
export function authenticate(
  { verifier, store, isProduction }: AuthenticationParts,
  door: HttpDoor,
): RequestHandler {
  const holderOf = async ({ headers, ip = "" }: Request): Promise<KeyHolder | null> => {
    const key = isProduction ? presentedKey(headers) : findPresentedKey(headers);
    return key === null ? null : await verifier.verify(key, ip);
  };

  return async (request, response, next) => {
    const setHeader = (name: string, value: string): void => void response.setHeader(name, value);
    const holder = await holderOf(request);
    door.noteHolder(response, holder);
    if (holder) await takeToken(store, holder, "read", setHeader);
    const gone = new AbortController();
    response.once("close", () => {
      if (!response.writableFinished) gone.abort();
    });
    const requestId = door.requestIdOf(response);
    duringVisit({ requestId, holder, signal: gone.signal, setHeader, measured: null }, next);
  };
}
