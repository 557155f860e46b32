/**
 * `npm run audit`: asks the registry for known vulnerabilities of the packages that users run. Fails for severity "moderate"
 * or higher, except for the entries of audit-dependencies.exceptions.ts. If the registry does not answer audits, prints that
 * nothing was audited and succeeds, unless called with --required, as before a release.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { auditExceptions, type AuditException } from "./audit-dependencies.exceptions.ts";
import { findShippedPackages } from "./shipped-packages.ts";

/**
 * The output of `npm audit --json`. `via` contains advisories, and names of packages that cause them; `nodes` are the
 * lock-file paths of the vulnerable packages.
 */
interface AuditReport {
  auditReportVersion?: number;
  message?: string;
  error?: { code?: string; summary?: string };
  vulnerabilities?: Record<string, { via: (string | Advisory)[]; nodes?: string[] }>;
}

interface Advisory {
  name: string;
  title: string;
  url: string;
  severity: string;
}

export interface AuditResult {
  /** Why nothing was audited; null if the audit was done. */
  skippedReason: string | null;
  /** Findings that fail the audit, as sentences. */
  problems: string[];
  /** Findings that do not fail the audit, as sentences. */
  accepted: string[];
}

const FAILING_SEVERITIES = new Set(["moderate", "high", "critical"]);

/** Evaluates the output of `npm audit --json`. `isShipped` is true for the lock-file path of a package that users run. */
export function evaluateAudit(
  text: string,
  exceptions: readonly AuditException[],
  today: string,
  isShipped: (path: string) => boolean = () => true,
): AuditResult {
  const report = parseReport(text);
  if (!report?.vulnerabilities) {
    const reason = report?.message ?? report?.error?.summary ?? "unreadable response";
    return { skippedReason: reason, problems: [], accepted: [] };
  }
  const advisories = listAdvisories(report.vulnerabilities, isShipped);
  const described = advisories.map((advisory) => ({
    ...advisory,
    ...describeAdvisory(advisory, exceptions, today),
  }));
  const stale = exceptions.filter(({ advisory }) => !advisories.some(({ url }) => url === advisory));
  return {
    skippedReason: null,
    problems: [
      ...described.filter(({ fails }) => fails).map(({ sentence }) => sentence),
      ...stale.map(({ advisory }) => `The exception for ${advisory} is no longer needed: remove it.`),
    ],
    accepted: described.filter(({ fails }) => !fails).map(({ sentence }) => sentence),
  };
}

function describeAdvisory(
  { name, title, url, severity }: Advisory,
  exceptions: readonly AuditException[],
  today: string,
) {
  const exception = exceptions.find(({ advisory }) => advisory === url);
  const hasExpired = exception !== undefined && exception.until < today;
  const exceptionText = exception ? ` Excepted until ${exception.until}: ${exception.reason}` : "";
  const fails = exception ? hasExpired : FAILING_SEVERITIES.has(severity);
  return {
    fails,
    sentence: `${name}: ${title} (${severity}, ${url}).${exceptionText}${hasExpired ? " The exception has expired." : ""}`,
  };
}

function listAdvisories(
  vulnerabilities: NonNullable<AuditReport["vulnerabilities"]>,
  isShipped: (path: string) => boolean,
): Advisory[] {
  const all = Object.values(vulnerabilities)
    .filter(({ nodes }) => nodes === undefined || nodes.some(isShipped))
    .flatMap(({ via }) => via.filter((entry) => typeof entry === "object"));
  return [...new Map(all.map((advisory) => [advisory.url, advisory])).values()];
}

function parseReport(text: string): AuditReport | null {
  try {
    return JSON.parse(text) as AuditReport;
  } catch {
    return null;
  }
}

async function main(isRequired: boolean): Promise<number> {
  const shippedPackages = await findShippedPackages();
  const options = ["audit", "--json", "--fetch-retries=0", "--fetch-timeout=20000"];
  const { stdout } = spawnSync("npm", options, { cwd: join(import.meta.dirname, ".."), encoding: "utf8" });
  const today = new Date().toISOString().slice(0, 10);
  const { skippedReason, problems, accepted } = evaluateAudit(stdout, auditExceptions, today, (path) =>
    shippedPackages.has(path),
  );
  if (skippedReason !== null) {
    console.error(`Dependencies were NOT audited: ${skippedReason}`);
    return isRequired ? 1 : 0;
  }
  for (const sentence of [...accepted, ...problems]) console.error(sentence);
  console.error(`Audited the dependencies: ${problems.length} to fix, ${accepted.length} accepted.`);
  return problems.length > 0 ? 1 : 0;
}

if (import.meta.main) process.exitCode = await main(process.argv.includes("--required"));
