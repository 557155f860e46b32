/** The gate of every operation: access, a recent sign-in and the input are checked here, for every interface. */
import type { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { AppError, badRequest, type Problem } from "../core/errors.ts";
import { requireFreshAuthentication } from "../core/fresh-authentication.ts";
import type { Transaction } from "../core/postgres/transaction.ts";
import { isTestPrincipal } from "../core/principal.ts";
import { toProblems } from "../core/zod-problems.ts";
import {
  type Access,
  type AccessSubject,
  Answer,
  type Execution,
  type Operation,
  type ReadAccess,
  type RequestPrincipal,
  type Role,
} from "./operation.ts";

type Values = Readonly<Record<string, unknown>>;

/** The input as an interface has read it. */
export interface ReadInput {
  /** The params and the input. If there are problems: their valid members. */
  readonly values: Values;
  readonly problems: readonly Problem[];
  /** The message of the problems. Default: the first one as a sentence. */
  readonly message?: string | undefined;
}

export interface Call<Services> extends Pick<Execution, "external" | "organizationId" | "tx"> {
  readonly services: Services & { readonly clock: Clock };
  readonly principal: RequestPrincipal;
  readonly input: ReadInput;
}

/** Parses `raw`. Every problem has this location. */
export function parseInput(schema: z.ZodObject, raw: Values, location: Problem["location"]): ReadInput {
  const result = schema.safeParse(raw);
  if (result.success) return { values: result.data, problems: [] };
  const members = Object.entries(schema.shape).flatMap(([name, member]) => {
    const read = (member as z.ZodType).safeParse(raw[name]);
    return name in raw && read.success ? [[name, read.data] as const] : [];
  });
  return { values: Object.fromEntries(members), problems: toProblems(result.error, location) };
}

/** Throws ForbiddenException if the principal has not the role or lacks a scope that is needed for this input. */
export function authorize(access: ReadAccess, principal: AccessSubject, input: Values = {}): void {
  const refusal = refusalOf(access, principal, input);
  if (refusal !== null) throw new AppError("ForbiddenException", refusal);
}

export function isAllowed(access: ReadAccess, principal: AccessSubject): boolean {
  return refusalOf(access, principal, {}) === null;
}

function refusalOf(access: ReadAccess, principal: AccessSubject, input: Values): string | null {
  const { scopes, scopesFor, role, mode } = typeof access === "function" ? access(principal) : access;
  const needed = [...scopes, ...(scopesFor?.(input) ?? [])];
  const lacking = needed.find((scope) => !principal.scopes.includes(scope));
  if (lacking === undefined) return (role && roleRefusal(role, principal)) ?? modeRefusal(mode, principal);
  return principal.keyId === null
    ? `Your role does not have the scope ${lacking}, which this needs`
    : `The API key lacks the scope ${lacking}`;
}

function roleRefusal(role: Role, principal: AccessSubject): string | null {
  if (role === "operator")
    return principal.organizationId === null ? null : "Only operators of the service can do this";
  if (!principal.user) return "Only signed-in users can do this, not API keys";
  if (role.includes(principal.user.role)) return null;
  const names = role.filter((name) => name !== "operator").map((name) => `${name}s`);
  return `Only ${names.join(" and ")} of your organisation can do this`;
}

function modeRefusal(mode: Access["mode"], principal: AccessSubject): string | null {
  return mode === "live" && isTestPrincipal(principal)
    ? "This belongs to live mode. Switch to live mode first"
    : null;
}

/**
 * Returns the change, after everything that can be checked before it. Throws ForbiddenException, ReauthenticationRequiredError,
 * BadRequestException with all problems, and what `prepare` throws.
 */
export async function admit<Services>(
  operation: Operation<Services>,
  { services, principal, input: { values, problems, message }, ...execution }: Call<Services>,
): Promise<(tx?: Transaction) => Promise<Answer<unknown>>> {
  authorize(operation.access, principal, values);
  if (operation.access.mode === "test" && !isTestPrincipal(principal))
    throw new AppError("NotFoundException", "This works only in test mode: use a test key");
  const { fresh } = operation;
  if (fresh === true || (typeof fresh === "function" && fresh(values)))
    requireFreshAuthentication(principal, services.clock.now());
  const prepare = async () => await operation.prepare?.(services, principal, values, execution);
  if (problems.length > 0) {
    const others = (await operation.problems?.(services, values, execution.tx)) ?? [];
    const found = await prepare().then(() => [], problemsOf);
    throw badRequest([...problems, ...others, ...found], message);
  }
  const prepared = await prepare();
  return async (tx) => {
    const result = await operation.run(services, principal, values, { ...execution, tx, prepared });
    return result instanceof Answer ? result : new Answer(result);
  };
}

/** Returns the problems of a BadRequestException; none for other errors. */
function problemsOf(error: unknown): readonly Problem[] {
  const isBadRequest = error instanceof AppError && error.code === "BadRequestException";
  return isBadRequest && Array.isArray(error.details) ? (error.details as Problem[]) : [];
}
