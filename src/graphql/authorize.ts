/** What a resolver asks before it does anything: who is asking, and may they. */
import type { AuditContext } from "../audit/api.ts";
import type { SessionPrincipal } from "../accounts/api.ts";
import { keyRequired, requireScope, type Scope } from "../api-keys/api.ts";
import { AppError } from "../platform/errors.ts";
import type { AuthenticatedActor } from "../platform/fresh-authentication.ts";
import type { ChangeContext } from "../platform/principal.ts";
import type { GraphqlContext } from "./context.ts";
import { isSessionPrincipal, type AuthenticatedPrincipal, type AuthenticatedOperator } from "./principal.ts";

/** Who is asking, with whatever scopes. Throws UnauthorizedException for the anonymous. */
export function requirePrincipal({ principal }: GraphqlContext): AuthenticatedPrincipal {
  if (principal === null) throw keyRequired();
  return principal;
}

/** Who is asking, their key or role having `scope`. Throws ForbiddenException where it has not. */
export function authorize(context: GraphqlContext, scope: Scope): AuthenticatedPrincipal {
  const principal = requirePrincipal(context);
  requireScope(principal, scope);
  return principal;
}

/** The operator who is asking. Throws ForbiddenException for partners. */
export function requireOperator(context: GraphqlContext, scope: Scope): AuthenticatedOperator {
  const principal = authorize(context, scope);
  if (principal.organizationId !== null) throw forbidden("This is for operators of the service");
  return principal;
}

/** The person who is asking. Throws ForbiddenException for keys. */
export function requireUser(context: GraphqlContext): SessionPrincipal {
  const principal = requirePrincipal(context);
  if (!isSessionPrincipal(principal)) throw forbidden("This is for people who are signed in, not for keys");
  return principal;
}

/** The owner who is asking, or an operator, for whose kind it is the same. Throws ForbiddenException for members and keys. */
export function requireOwner(context: GraphqlContext): SessionPrincipal {
  const principal = requireUser(context);
  if (principal.user.role === "member") throw forbidden("This is for the owners of your organisation");
  return principal;
}

/** Whether the caller may see who belongs to their organisation: its people do, and keys that manage its integrations. */
export function canViewMembers(principal: AuthenticatedPrincipal): boolean {
  return isSessionPrincipal(principal) || principal.scopes.includes("webhooks:manage");
}

export function changeContext(
  { requestId }: GraphqlContext,
  { actor }: AuthenticatedPrincipal,
): ChangeContext {
  return { actor, requestId };
}

/** Who acts, for whom, and from where: for what the audit log keeps account of. */
export function auditContext(
  { requestId, address }: GraphqlContext,
  principal: AuthenticatedPrincipal,
): AuditContext & AuthenticatedActor & { readonly organizationId: string | null } {
  const { actor, organizationId } = principal;
  const authenticatedAt = isSessionPrincipal(principal) ? principal.authenticatedAt : undefined;
  return { actor, organizationId, authenticatedAt, requestId, address };
}

function forbidden(message: string): AppError {
  return new AppError("ForbiddenException", message);
}
