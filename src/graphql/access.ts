/** What a resolver asks before it does anything: who is asking, and may they. */
import type { KeyHolder, OperatorKey } from "../api-keys/api-key.memory.ts";
import type { Scope } from "../api-keys/api-key.entity.ts";
import { keyRequired, requireScope } from "../api-keys/api-key.verifier.ts";
import { AppError } from "../platform/errors.ts";
import type { ChangeContext } from "../platform/principal.ts";
import type { GraphqlContext } from "./context.ts";

/** Who is asking, with whatever scopes. Throws UnauthorizedException for the anonymous. */
export function holderOf({ holder }: GraphqlContext): KeyHolder {
  if (holder === null) throw keyRequired();
  return holder;
}

/** Who is asking, their key having `scope`. Throws ForbiddenException where it has not. */
export function allowed(context: GraphqlContext, scope: Scope): KeyHolder {
  const holder = holderOf(context);
  requireScope(holder, scope);
  return holder;
}

/** The operator who is asking. Throws ForbiddenException for partners. */
export function operatorOf(context: GraphqlContext, scope: Scope): OperatorKey {
  const holder = allowed(context, scope);
  if (holder.organizationId !== null)
    throw new AppError("ForbiddenException", "This is for operators of the service");
  return holder;
}

export function changeContext({ requestId }: GraphqlContext, { actor }: KeyHolder): ChangeContext {
  return { actor, requestId };
}
