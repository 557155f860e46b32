/** Authorisation checks that resolvers call first. */
import type { SessionPrincipal } from "../../accounts/api.ts";
import { keyRequired, requireScope, type Scope } from "../../api-keys/api.ts";
import type { ChangeContext } from "../../core/principal.ts";
import { requireRole } from "../../operations/admit.ts";
import type { GraphqlContext } from "./context.ts";
import type { AuthenticatedOperator, AuthenticatedPrincipal } from "./authenticated-principal.ts";

/** Returns the principal, with any scopes. Throws UnauthorizedException for anonymous requests. */
export function requirePrincipal({ principal }: GraphqlContext): AuthenticatedPrincipal {
  if (principal === null) throw keyRequired();
  return principal;
}

/** Returns the principal if its key or role has `scope`, otherwise throws ForbiddenException. */
export function authorize(context: GraphqlContext, scope: Scope): AuthenticatedPrincipal {
  const principal = requirePrincipal(context);
  requireScope(principal, scope);
  return principal;
}

/** Returns the principal if it is an operator with `scope`, otherwise throws ForbiddenException. */
export function requireOperator(context: GraphqlContext, scope: Scope): AuthenticatedOperator {
  const principal = authorize(context, scope);
  requireRole("operator", principal);
  return principal as AuthenticatedOperator;
}

/** Returns a principal that may manage webhooks, otherwise throws ForbiddenException. */
export function requireManager(context: GraphqlContext): AuthenticatedPrincipal {
  return authorize(context, "webhooks:manage");
}

/** Returns a principal that may manage API keys, otherwise throws ForbiddenException. */
export function requireKeyManager(context: GraphqlContext): AuthenticatedPrincipal {
  return authorize(context, "keys:manage");
}

/** Returns any principal of an organisation, or an administrator, otherwise throws ForbiddenException. */
export function requireLogReader(context: GraphqlContext): AuthenticatedPrincipal {
  const principal = requirePrincipal(context);
  return principal.organizationId === null ? requireAdministrator(context) : principal;
}

/** Returns an operator that may manage organisations, mails and requests, otherwise throws ForbiddenException. */
export function requireAdministrator(context: GraphqlContext): AuthenticatedOperator {
  return requireOperator(context, "webhooks:manage");
}

/** Returns the signed-in user. Throws ForbiddenException for API keys. */
export function requireUser(context: GraphqlContext): SessionPrincipal {
  const principal = requirePrincipal(context);
  requireRole("user", principal);
  return principal as SessionPrincipal;
}

/** Returns the signed-in owner of an organisation, or operator. Throws ForbiddenException for members, API keys and in test mode. */
export function requireOwner(context: GraphqlContext): SessionPrincipal {
  const principal = requirePrincipal(context);
  requireRole("owner", principal);
  return principal as SessionPrincipal;
}

export function changeContext(
  { requestId }: GraphqlContext,
  { actor }: AuthenticatedPrincipal,
): ChangeContext {
  return { actor, requestId };
}
