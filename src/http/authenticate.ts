/** Who is calling: the API key in `x-api-key` or `Authorization: Bearer`. */
import type { Request, RequestHandler } from "express";
import type { Scope } from "../api-keys/api-key.entity.ts";
import { unauthorized, type KeyVerifier } from "../api-keys/api-key.verifier.ts";
import { AppError } from "../platform/errors.ts";
import { contextOf } from "./context.ts";

/** Lets a request through whose key has `scope`; 401 and 403 otherwise. */
export function authenticate(verifier: KeyVerifier, scope: Scope): RequestHandler {
  return async (request, response, next) => {
    const principal = await verifier.verify(presentedKey(request), request.ip ?? "");
    contextOf(response).principal = principal;
    if (!principal.scopes.includes(scope))
      throw new AppError("ForbiddenException", `The API key lacks the scope ${scope}`);
    next();
  };
}

function presentedKey({ headers }: Request): string {
  const own = headers["x-api-key"];
  const bearer = /^bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];
  if (typeof own === "string" && bearer !== undefined && own !== bearer) {
    throw unauthorized("x-api-key and Authorization hold two different keys; send one");
  }
  const key = own ?? bearer;
  if (typeof key !== "string")
    throw unauthorized("An API key is required, as x-api-key or as Authorization: Bearer");
  return key;
}
