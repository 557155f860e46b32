/** What stands before every v1 route: its name for the logs, then the key and its scope, then the rate limit. */
import type { RequestHandler } from "express";
import type { KeyVerifier } from "../../api-keys/api.ts";
import { authenticate } from "./authenticate.ts";
import { contextOf } from "../context.ts";
import type { RateLimits } from "../../rate-limits/api.ts";
import { rateLimit } from "./rate-limit.ts";

export interface ApiKeyGuards {
  tagRoute(route: string): RequestHandler;
  read: RequestHandler[];
  write: RequestHandler[];
  batch: RequestHandler[];
}

export function createApiKeyGuards(verifier: KeyVerifier, limits: RateLimits | null): ApiKeyGuards {
  const reader = authenticate(verifier, "jobs:read");
  // A change answers with the job.
  const writer = authenticate(verifier, "jobs:write", "jobs:read");
  return {
    tagRoute: (route) => (_request, response, next) => {
      contextOf(response).route = route;
      next();
    },
    read: [reader, rateLimit(limits, "read")],
    write: [writer, rateLimit(limits, "write")],
    batch: [writer, rateLimit(limits, "batch")],
  };
}
