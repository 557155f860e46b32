/** The key that a request brings: `x-api-key` or `Authorization: Bearer`, for REST and GraphQL alike. */
import { keyRequired, unauthorized } from "./api-key.verifier.ts";

/** Header values by lower-case name. */
export type CredentialHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The key, or null where there is none. Throws UnauthorizedException for two different ones. */
export function findApiKey(headers: CredentialHeaders): string | null {
  const own = headers["x-api-key"];
  const authorization = headers["authorization"];
  const bearer =
    typeof authorization === "string" ? /^bearer +(\S+) *$/i.exec(authorization)?.[1] : undefined;
  if (typeof own === "string" && bearer !== undefined && own !== bearer) {
    throw unauthorized("x-api-key and Authorization hold two different keys; send one");
  }
  const key = own ?? bearer;
  return typeof key === "string" ? key : null;
}

/** The key. Throws UnauthorizedException where there is none. */
export function requireApiKey(headers: CredentialHeaders): string {
  const key = findApiKey(headers);
  if (key === null) throw keyRequired();
  return key;
}
