/** The exports of this feature: other features and the adapters import only from here. */
export { changeKeys, type IssuedKey, purgeEndedKeys, setSuspended } from "./api-key.changes.ts";
export { AccessRevision, ApiKey, type Scope, scopes } from "./api-key.entity.ts";
export { parsePrefix } from "./api-key.format.ts";
export { ApiKeyService, keysByIds } from "./api-key.service.ts";
export {
  type ApiKeyPrincipal,
  createKeyVerifier,
  type CredentialHeaders,
  findApiKey,
  keyRequired,
  type KeyVerifier,
  type OperatorKeyPrincipal,
  type OrganizationKeyPrincipal,
  requireApiKey,
  requireScope,
} from "./api-key.verifier.ts";
