/** Who is asking, found out and counted before anything of the operation is read. */
import type { Request, RequestHandler } from "express";
import type { KeyVerifier } from "../api-keys/api-key.verifier.ts";
import { keyRequired } from "../api-keys/api-key.verifier.ts";
import { findPresentedKey } from "../api-keys/presented-key.ts";
import { takeToken, type BucketOwner, type RateLimits } from "../api-keys/rate-limit.ts";
import { networkOf } from "../platform/network.ts";
import { bucketOf, type Holder } from "./holder.ts";
import type { HttpDoor } from "./http-door.ts";
import type { Sessions } from "./sessions.ts";
import { duringVisit, type Visit } from "./visit.ts";

export interface AuthenticationParts {
  verifier: KeyVerifier;
  sessions: Sessions;
  /** Null: rate limits are off. */
  limits: RateLimits | null;
  isProduction: boolean;
}

/** Finds whoever asks, by key or else by session. Null: nobody known, who outside production comes as far as introspection. */
function createIdentification({
  verifier,
  sessions,
  isProduction,
}: Omit<AuthenticationParts, "limits">): (request: Request) => Promise<Holder | null> {
  return async ({ headers, ip = "" }) => {
    const key = findPresentedKey(headers);
    if (key !== null) return await verifier.verify(key, ip);
    if (sessions.isPresented(headers)) {
      sessions.requireOwnPage(headers);
      return await sessions.verify(headers, ip);
    }
    if (isProduction) throw keyRequired();
    return null;
  };
}

/** Introspection without a key: enough for a page that reads the schema again every second. */
const ANONYMOUS_LIMIT = { perSecond: 5, burst: 50 };

/** Requests without a key share a bucket for each network. */
function anonymousBucketOf({ ip = "" }: Request): BucketOwner {
  const bucket = `anonymous:${networkOf(ip)}`;
  return { kind: "network", bucket, organizationId: null, rateLimits: { read: ANONYMOUS_LIMIT } };
}

/** Begins the visit. In production nobody unknown comes further. */
export function authenticate(parts: AuthenticationParts, door: HttpDoor): RequestHandler {
  const identify = createIdentification(parts);
  return async (request, response, next) => {
    const setHeader = (name: string, value: string): void => void response.setHeader(name, value);
    const holder = await identify(request);
    door.noteHolder(response, holder);
    const owner = holder ? bucketOf(holder) : anonymousBucketOf(request);
    await takeToken(parts.limits, owner, "read", setHeader);
    const gone = new AbortController();
    response.once("close", () => {
      if (!response.writableFinished) gone.abort();
    });
    const requestId = door.requestIdOf(response);
    const { ip: address = null } = request;
    const noteFailure: Visit["noteFailure"] = (failure) => door.noteFailure(response, failure);
    const duringExternalCall: Visit["duringExternalCall"] = (call) => door.duringExternalCall(response, call);
    const { signal } = gone;
    duringVisit(
      { requestId, address, holder, signal, setHeader, duringExternalCall, noteFailure, measured: null },
      next,
    );
  };
}
