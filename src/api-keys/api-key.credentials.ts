/** Reads the API key of a REST or GraphQL request from `x-api-key` or `Authorization: Bearer`. */
import { keyRequired, unauthorized } from "./api-key.verifier.ts";

/** Header values by lower-case name. */
export type CredentialHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Returns the key, or null if there is none. Throws UnauthorizedException for two different keys. */
export function findApiKey(headers: CredentialHeaders): string | null {
  const apiKeyHeader = headers["x-api-key"];
  const authorization = headers["authorization"];
  const bearer =
    typeof authorization === "string" ? /^bearer +(\S+) *$/i.exec(authorization)?.[1] : undefined;
  if (typeof apiKeyHeader === "string" && bearer !== undefined && apiKeyHeader !== bearer) {
    throw unauthorized("x-api-key and Authorization contain different keys; send only one");
  }
  const key = apiKeyHeader ?? bearer;
  return typeof key === "string" ? key : null;
}

/** As `findApiKey`, but throws UnauthorizedException if there is no key. */
export function requireApiKey(headers: CredentialHeaders): string {
  const key = findApiKey(headers);
  if (key === null) throw keyRequired();
  return key;
}
