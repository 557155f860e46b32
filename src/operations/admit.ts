/**
 * The gate of every operation, for every interface: access, a recent sign-in and the input are checked here. A request with an
 * Idempotency-Key runs at most once.
 */
import type { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { AppError, badRequest, type Problem } from "../core/errors.ts";
import { requireFreshAuthentication } from "../core/fresh-authentication.ts";
import type { Transaction } from "../core/postgres/transaction.ts";
import { isTestPrincipal } from "../core/principal.ts";
import { toProblems } from "../core/zod-problems.ts";
import type { FirstResponse, IdempotencyService, KeyedRequest, StoredResponse } from "../idempotency/api.ts";
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

export interface Call<Services> extends Pick<Execution, "external" | "organizationId"> {
  readonly services: Services & { readonly clock: Clock; readonly idempotency: IdempotencyService };
  readonly principal: RequestPrincipal;
  readonly input: ReadInput;
  /** Null without an Idempotency-Key. */
  readonly keyed: KeyedRequest | null;
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
 * Returns the response to the answer, or the stored response of an earlier request with the key. Throws ForbiddenException,
 * ReauthenticationRequiredError, BadRequestException with all problems, and what the operation and `IdempotencyService` throw.
 */
export async function execute<Services, Response extends FirstResponse>(
  operation: Operation<Services>,
  call: Call<Services>,
  toResponse: (answer: Answer<unknown>) => Response,
): Promise<Response | StoredResponse> {
  const { keyed, services } = call;
  if (keyed === null) return toResponse(await (await admit(operation, call))());
  // Preparing can take long, so it runs before the transaction, and not for a repeated request.
  const replay = operation.prepare ? await services.idempotency.findReplay(keyed) : null;
  if (replay) return replay;
  const prepared = operation.prepare && (await admit(operation, call));
  return await services.idempotency.runOnce(keyed, async (tx) => {
    const change = prepared ?? (await admit(operation, call, tx));
    return toResponse(await change(tx));
  });
}

/** Returns the change, after everything that can be checked before it. */
async function admit<Services>(
  operation: Operation<Services>,
  { services, principal, input: { values, problems, message }, external, organizationId }: Call<Services>,
  tx?: Transaction,
): Promise<(tx?: Transaction) => Promise<Answer<unknown>>> {
  authorize(operation.access, principal, values);
  if (operation.access.mode === "test" && !isTestPrincipal(principal))
    throw new AppError("NotFoundException", "This works only in test mode: use a test key");
  const { fresh } = operation;
  if (fresh === true || (typeof fresh === "function" && fresh(values)))
    requireFreshAuthentication(principal, services.clock.now());
  const execution = { external, organizationId };
  const prepare = async () => await operation.prepare?.(services, principal, values, execution);
  if (problems.length > 0) {
    const others = (await operation.problems?.(services, values, tx)) ?? [];
    const found = await prepare().then(() => [], problemsOf);
    throw badRequest([...problems, ...others, ...found], message);
  }
  const prepared = await prepare();
  return async (changeTx) => {
    const result = await operation.run(services, principal, values, { ...execution, tx: changeTx, prepared });
    return result instanceof Answer ? result : new Answer(result);
  };
}

/** Returns the problems of a BadRequestException; none for other errors. */
function problemsOf(error: unknown): readonly Problem[] {
  const isBadRequest = error instanceof AppError && error.code === "BadRequestException";
  return isBadRequest && Array.isArray(error.details) ? (error.details as Problem[]) : [];
}
