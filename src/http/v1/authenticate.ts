/** Authentication by API key, in `x-api-key` or `Authorization: Bearer`. */
import type { RequestHandler } from "express";
import { type KeyVerifier, requireApiKey, requireScope, type Scope } from "../../api-keys/api.ts";
import { AppError } from "../../platform/errors.ts";
import { contextOf } from "../context.ts";

/** Returns a middleware that requires an organisation's key with all `scopes`; otherwise 401 or 403. */
export function authenticate(verifier: KeyVerifier, ...scopes: Scope[]): RequestHandler {
  return async (request, response, next) => {
    const principal = await verifier.verify(requireApiKey(request.headers), request.ip ?? "");
    if (principal.organizationId === null)
      throw new AppError(
        "ForbiddenException",
        "Operator keys only work with /graphql; use a key of an organisation",
      );
    contextOf(response).principal = principal;
    for (const scope of scopes) requireScope(principal, scope);
    next();
  };
}
