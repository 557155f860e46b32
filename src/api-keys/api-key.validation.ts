/** Validates the values of a new key. api-key.grantor.ts checks whether the principal may grant them. */
import type { Clock } from "../platform/clock.ts";
import { AppError, type Problem } from "../platform/errors.ts";
import { scopes as allScopes, type Scope } from "./api-key.entity.ts";
import { MAX_GRACE_HOURS } from "./api-key.issue.ts";
import { parseCidr } from "../platform/cidr.ts";

export interface KeyRequest {
  name: string;
  /** Null or absent, here and below: those of the key that creates it; for a user, no restriction beyond the role's scopes. */
  scopes?: readonly Scope[] | null;
  expiresAt?: Date | null;
  cidrs?: readonly string[] | null;
  /** A uuid. Null or absent: the principal's organisation; for an operator, an operator's key. */
  organizationId?: string | null;
}

const MAX_NAME_LENGTH = 100;
const MAX_CIDRS = 100;
/** PostgreSQL can't parse the text of later JavaScript dates. */
const MAX_EXPIRY_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Returns every problem. */
export function checkKeyRequest(request: KeyRequest, clock: Clock): Problem[] {
  return [
    ...nameProblems(request.name),
    ...scopeProblems(request.scopes ?? null),
    ...expiryProblems(request.expiresAt ?? null, clock),
    ...cidrProblems(request.cidrs ?? null),
  ];
}

export function checkGraceHours(graceHours: number): Problem[] {
  return graceHours >= 0 && graceHours <= MAX_GRACE_HOURS
    ? []
    : [problemOf("graceHours", `must be from 0 to ${MAX_GRACE_HOURS}`)];
}

function nameProblems(name: string): Problem[] {
  if (name.trim() === "") return [problemOf("name", "must not be empty")];
  if (Array.from(name).length > MAX_NAME_LENGTH)
    return [problemOf("name", `must be at most ${MAX_NAME_LENGTH} characters`)];
  return /\p{Cc}/u.test(name) || !name.isWellFormed()
    ? [problemOf("name", "must not contain control characters or lone surrogates")]
    : [];
}

function scopeProblems(scopes: readonly Scope[] | null): Problem[] {
  if (scopes?.length === 0) return [problemOf("scopes", "must name at least one scope")];
  return scopes?.some((scope) => !allScopes.includes(scope))
    ? [problemOf("scopes", `must be among ${allScopes.join(", ")}`)]
    : [];
}

function expiryProblems(expiresAt: Date | null, clock: Clock): Problem[] {
  if (expiresAt === null) return [];
  const ms = expiresAt.getTime();
  return ms > clock.now() && ms <= MAX_EXPIRY_MS
    ? []
    : [problemOf("expiresAt", "must be in the future, and before the year 10000")];
}

function cidrProblems(cidrs: readonly string[] | null): Problem[] {
  if (cidrs === null) return [];
  if (cidrs.length === 0 || cidrs.length > MAX_CIDRS)
    return [problemOf("cidrs", `must be a list of 1 to ${MAX_CIDRS} ranges`)];
  return cidrs.flatMap((range, index) =>
    isCidr(range) ? [] : [problemOf(`cidrs.${index}`, "must be a CIDR range such as 203.0.113.0/24")],
  );
}

function isCidr(text: string): boolean {
  try {
    return parseCidr(text).text !== "";
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

function problemOf(field: string, message: string): Problem {
  return { location: "body", field, code: "invalid_value", message };
}
