/** What a key may do, in words. */
import type { Scope } from "../../../generated/api-keys.ts";

export interface ScopeLabel {
  scope: Scope;
  /** As REST, the command line and error messages write it. */
  code: string;
  description: string;
}

export const scopeLabels: readonly ScopeLabel[] = [
  {
    scope: "JOBS_READ",
    code: "jobs:read",
    description: "List the jobs that you can see, their history and events, and the reference tables.",
  },
  {
    scope: "JOBS_WRITE",
    code: "jobs:write",
    description: "Change jobs, one at a time or up to 100 at once.",
  },
  {
    scope: "WEBHOOKS_MANAGE",
    code: "webhooks:manage",
    description: "Manage webhook endpoints, deliveries and API keys. Few programs need it.",
  },
];

export function scopeCode(scope: Scope): string {
  return scopeLabels.find((words) => words.scope === scope)?.code ?? scope;
}
