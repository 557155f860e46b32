/** Labels and descriptions of the scopes. */
import type { Scope } from "../../../generated/api-keys.ts";

export interface ScopeLabel {
  scope: Scope;
  /** The scope's name in REST, the CLI and error messages. */
  code: string;
  description: string;
}

export const scopeLabels: readonly ScopeLabel[] = [
  {
    scope: "JOBS_READ",
    code: "jobs:read",
    description: "Read jobs, their history and events, and reference data.",
  },
  {
    scope: "JOBS_WRITE",
    code: "jobs:write",
    description: "Change jobs, one at a time or up to 100 per request.",
  },
  {
    scope: "WEBHOOKS_MANAGE",
    code: "webhooks:manage",
    description: "Manage webhook endpoints and deliveries.",
  },
  {
    scope: "KEYS_MANAGE",
    code: "keys:manage",
    description:
      "Create, replace and revoke API keys with at most its own permissions. Few integrations need it.",
  },
];

export function scopeCode(scope: Scope): string {
  return scopeLabels.find((label) => label.scope === scope)?.code ?? scope;
}
