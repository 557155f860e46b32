/** What a key may do, in words. */
import type { Scope } from "../../generated/api-keys.ts";

export interface ScopeWords {
  scope: Scope;
  /** As REST, the command line and error messages write it. */
  code: string;
  meaning: string;
}

export const scopeWords: readonly ScopeWords[] = [
  {
    scope: "JOBS_READ",
    code: "jobs:read",
    meaning: "List the jobs that you can see, their history and events, and the reference tables.",
  },
  {
    scope: "JOBS_WRITE",
    code: "jobs:write",
    meaning: "Change jobs, one at a time or up to 100 at once.",
  },
  {
    scope: "WEBHOOKS_MANAGE",
    code: "webhooks:manage",
    meaning: "Manage webhook endpoints, deliveries and API keys. Few programs need it.",
  },
];

export function scopeCode(scope: Scope): string {
  return scopeWords.find((words) => words.scope === scope)?.code ?? scope;
}
