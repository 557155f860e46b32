/** Known weaknesses of packages that are borne for a while. One that is over, or not needed any more, fails the audit. */

export interface AuditException {
  /** Its address, such as https://github.com/advisories/GHSA-xxxx-xxxx-xxxx. */
  readonly advisory: string;
  /** Why it does not reach us, or what stands in its way here. */
  readonly reason: string;
  /** The last day on which this holds, such as 2026-12-31: a quarter of a year at most. */
  readonly until: string;
}

export const auditExceptions: readonly AuditException[] = [];
