/** Middlewares of every v1 route: authentication, scopes and rate limit. */
import type { RequestHandler } from "express";
import type { KeyVerifier } from "../../api-keys/api.ts";
import { authenticate } from "./authenticate.ts";
import type { RateLimits } from "../../rate-limits/api.ts";
import { rateLimit } from "./rate-limit.ts";

export interface ApiKeyGuards {
  read: RequestHandler[];
  write: RequestHandler[];
  batch: RequestHandler[];
}

export function createApiKeyGuards(verifier: KeyVerifier, limits: RateLimits | null): ApiKeyGuards {
  const reader = authenticate(verifier, "jobs:read");
  // Changes need jobs:read too, because they return the job.
  const writer = authenticate(verifier, "jobs:write", "jobs:read");
  return {
    read: [reader, rateLimit(limits, "read")],
    write: [writer, rateLimit(limits, "write")],
    batch: [writer, rateLimit(limits, "batch")],
  };
}
