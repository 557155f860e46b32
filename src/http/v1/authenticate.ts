/** Who is calling: the API key in `x-api-key` or `Authorization: Bearer`. */
import type { RequestHandler } from "express";
import { type KeyVerifier, requireApiKey, requireScope, type Scope } from "../../api-keys/api.ts";
import { AppError } from "../../platform/errors.ts";
import { contextOf } from "../context.ts";

/** Lets a request through whose key has all of `scopes`; 401 and 403 otherwise. */
export function authenticate(verifier: KeyVerifier, ...scopes: Scope[]): RequestHandler {
  return async (request, response, next) => {
    const principal = await verifier.verify(requireApiKey(request.headers), request.ip ?? "");
    if (principal.organizationId === null)
      throw new AppError(
        "ForbiddenException",
        "An operator's key is good for /graphql; here an organisation's is needed",
      );
    contextOf(response).principal = principal;
    for (const scope of scopes) requireScope(principal, scope);
    next();
  };
}
