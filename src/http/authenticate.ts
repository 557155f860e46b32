/** Who is calling: the API key in `x-api-key` or `Authorization: Bearer`. */
import type { RequestHandler } from "express";
import type { Scope } from "../api-keys/api-key.entity.ts";
import { presentedKey } from "../api-keys/presented-key.ts";
import { requireScope, type KeyVerifier } from "../api-keys/api-key.verifier.ts";
import { AppError } from "../platform/errors.ts";
import { contextOf } from "./context.ts";

/** Lets a request through whose key has all of `scopes`; 401 and 403 otherwise. */
export function authenticate(verifier: KeyVerifier, ...scopes: Scope[]): RequestHandler {
  return async (request, response, next) => {
    const principal = await verifier.verify(presentedKey(request.headers), request.ip ?? "");
    if (principal.organizationId === null)
      throw new AppError(
        "ForbiddenException",
        "An operator's key is good for /graphql; here an organisation's is needed",
      );
    contextOf(response).holder = principal;
    for (const scope of scopes) requireScope(principal, scope);
    next();
  };
}
