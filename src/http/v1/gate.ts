/** What stands before every v1 route: its name for the logs, then the key and its scope, then the rate limit. */
import type { RequestHandler } from "express";
import type { KeyVerifier } from "../../api-keys/api-key.verifier.ts";
import { authenticate } from "../authenticate.ts";
import { contextOf } from "../context.ts";
import type { RateLimitStore } from "../../api-keys/rate-limit.store.ts";
import { rateLimit } from "../rate-limit.ts";

export interface Gate {
  named(route: string): RequestHandler;
  read: RequestHandler[];
  write: RequestHandler[];
  batch: RequestHandler[];
}

export function createGate(verifier: KeyVerifier, limits: RateLimitStore | null): Gate {
  const reader = authenticate(verifier, "jobs:read");
  const writer = authenticate(verifier, "jobs:write");
  return {
    named: (route) => (_request, response, next) => {
      contextOf(response).route = route;
      next();
    },
    read: [reader, rateLimit(limits, "read")],
    write: [writer, rateLimit(limits, "write")],
    batch: [writer, rateLimit(limits, "batch")],
  };
}
