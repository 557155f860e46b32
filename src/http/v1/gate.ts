/** What stands before every v1 route: its name for the logs, then the key and its scope, then the rate limit. */
import type { RequestHandler } from "express";
import type { KeyVerifier } from "../../api-keys/api-key.verifier.ts";
import { authenticate } from "../authenticate.ts";
import { contextOf } from "../context.ts";
import type { RateLimits } from "../../api-keys/rate-limit.ts";
import { rateLimit } from "../rate-limit.ts";

export interface Gate {
  named(route: string): RequestHandler;
  read: RequestHandler[];
  write: RequestHandler[];
  batch: RequestHandler[];
}

export function createGate(verifier: KeyVerifier, limits: RateLimits | null): Gate {
  const reader = authenticate(verifier, "jobs:read");
  // A change answers with the job.
  const writer = authenticate(verifier, "jobs:write", "jobs:read");
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
