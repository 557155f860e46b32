/**
 * Asks the registry which of the packages that users run have known weaknesses: `npm run audit`. One at or above
 * "moderate" fails, unless audit.exceptions.ts says why not and until when. Where the registry answers no audits, or cannot be
 * reached, it says that nothing was audited and fails nothing, unless it is called with --required, as before a release.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { auditExceptions, type AuditException } from "./audit-dependencies.exceptions.ts";
import { findShippedPackages } from "./shipped-packages.ts";

/**
 * What `npm audit --json` prints: advisories stand in `via`, beside the names of packages that bring them, and `nodes` are
 * the places of what is weak.
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
  /** Null: it was done. */
  skippedReason: string | null;
  /** What fails, in sentences. */
  problems: string[];
  /** What is known and does not fail. */
  accepted: string[];
}

const FAILING_SEVERITIES = new Set(["moderate", "high", "critical"]);

/** `isUsers`: whether users run the package at this place. */
export function evaluateAudit(
  text: string,
  exceptions: readonly AuditException[],
  today: string,
  isShipped: (place: string) => boolean = () => true,
): AuditResult {
  const report = parseReport(text);
  if (!report?.vulnerabilities) {
    const why = report?.message ?? report?.error?.summary ?? "no answer that could be read";
    return { skippedReason: why, problems: [], accepted: [] };
  }
  const found = listAdvisories(report.vulnerabilities, isShipped);
  const described = found.map((advisory) => ({
    ...advisory,
    ...describeAdvisory(advisory, exceptions, today),
  }));
  const stale = exceptions.filter(({ advisory }) => !found.some(({ url }) => url === advisory));
  return {
    skippedReason: null,
    problems: [
      ...described.filter(({ fails }) => fails).map(({ sentence }) => sentence),
      ...stale.map(({ advisory }) => `The exception for ${advisory} is not needed any more: take it out.`),
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
  const isOver = exception !== undefined && exception.until < today;
  const why = exception ? ` Excepted until ${exception.until}: ${exception.reason}` : "";
  const fails = exception ? isOver : FAILING_SEVERITIES.has(severity);
  return {
    fails,
    sentence: `${name}: ${title} (${severity}, ${url}).${why}${isOver ? " That is over." : ""}`,
  };
}

function listAdvisories(
  vulnerabilities: NonNullable<AuditReport["vulnerabilities"]>,
  isShipped: (place: string) => boolean,
): Advisory[] {
  const all = Object.values(vulnerabilities)
    .filter(({ nodes }) => nodes === undefined || nodes.some(isShipped))
    .flatMap(({ via }) => via.filter((each) => typeof each === "object"));
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
  const { skippedReason, problems, accepted } = evaluateAudit(stdout, auditExceptions, today, (place) =>
    shippedPackages.has(place),
  );
  if (skippedReason !== null) {
    console.error(`The audit of dependencies was NOT done: ${skippedReason}`);
    return isRequired ? 1 : 0;
  }
  for (const sentence of [...accepted, ...problems]) console.error(sentence);
  console.error(`Audited the dependencies: ${problems.length} to fix, ${accepted.length} accepted.`);
  return problems.length > 0 ? 1 : 0;
}

if (import.meta.main) process.exitCode = await main(process.argv.includes("--required"));
