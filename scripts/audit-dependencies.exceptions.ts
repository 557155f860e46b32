/** Advisories accepted for a limited time. An exception that has expired or matches nothing fails the audit. */

export interface AuditException {
  /** URL, such as https://github.com/advisories/GHSA-xxxx-xxxx-xxxx. */
  readonly advisory: string;
  /** Why Waymark is not affected, or how it is protected. */
  readonly reason: string;
  /** Last day of the exception, such as 2026-12-31; at most three months ahead. */
  readonly until: string;
}

export const auditExceptions: readonly AuditException[] = [];
