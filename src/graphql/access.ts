/** What a resolver asks before it does anything: who is asking, and may they. */
import type { ActContext } from "../accounts/audit.service.ts";
import type { SessionHolder } from "../accounts/session.holder.ts";
import type { Scope } from "../api-keys/api-key.entity.ts";
import { keyRequired, requireScope } from "../api-keys/api-key.verifier.ts";
import { AppError } from "../platform/errors.ts";
import type { Authenticated } from "../platform/fresh-authentication.ts";
import type { ChangeContext } from "../platform/principal.ts";
import type { GraphqlContext } from "./context.ts";
import { isPerson, type Holder, type OperatorHolder } from "./holder.ts";

/** Who is asking, with whatever scopes. Throws UnauthorizedException for the anonymous. */
export function holderOf({ holder }: GraphqlContext): Holder {
  if (holder === null) throw keyRequired();
  return holder;
}

/** Who is asking, their key or role having `scope`. Throws ForbiddenException where it has not. */
export function allowed(context: GraphqlContext, scope: Scope): Holder {
  const holder = holderOf(context);
  requireScope(holder, scope);
  return holder;
}

/** The operator who is asking. Throws ForbiddenException for partners. */
export function operatorOf(context: GraphqlContext, scope: Scope): OperatorHolder {
  const holder = allowed(context, scope);
  if (holder.organizationId !== null) throw forbidden("This is for operators of the service");
  return holder;
}

/** The person who is asking. Throws ForbiddenException for keys. */
export function personOf(context: GraphqlContext): SessionHolder {
  const holder = holderOf(context);
  if (!isPerson(holder)) throw forbidden("This is for people who are signed in, not for keys");
  return holder;
}

/** The owner who is asking, or an operator, for whose kind it is the same. Throws ForbiddenException for members and keys. */
export function ownerOf(context: GraphqlContext): SessionHolder {
  const person = personOf(context);
  if (person.user.role === "member") throw forbidden("This is for the owners of your organisation");
  return person;
}

/** Whether the caller may see who belongs to their organisation: its people do, and keys that manage its integrations. */
export function maySeePeople(holder: Holder): boolean {
  return isPerson(holder) || holder.scopes.includes("webhooks:manage");
}

export function changeContext({ requestId }: GraphqlContext, { actor }: Holder): ChangeContext {
  return { actor, requestId };
}

/** Who acts, for whom, and from where: for what the audit log keeps account of. */
export function actContext(
  { requestId, address }: GraphqlContext,
  holder: Holder,
): ActContext & Authenticated & { readonly organizationId: string | null } {
  const { actor, organizationId } = holder;
  const authenticatedAt = isPerson(holder) ? holder.authenticatedAt : undefined;
  return { actor, organizationId, authenticatedAt, requestId, address };
}

function forbidden(sentence: string): AppError {
  return new AppError("ForbiddenException", sentence);
}
