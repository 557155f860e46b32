/** The exports of this feature: other features and the adapters import only from here. */
export { changeKeys, purgeEndedKeys, setSuspended } from "./api-key.changes.ts";
export { AccessRevision, ApiKey, modeOfKey, type Scope, scopes } from "./api-key.entity.ts";
export { type ApiKeyView, toApiKeyView } from "./view.ts";
export { parsePrefix } from "./api-key.format.ts";
export { ApiKeyService, keysByIds } from "./api-key.service.ts";
export {
  findApiKey,
  isKeyHeader,
  type KeyHeader,
  keyHeadersOf,
  keyRequired,
  requireApiKey,
  unauthorized,
} from "./api-key.headers.ts";
export {
  type ApiKeyPrincipal,
  createKeyVerifier,
  type KeyVerifier,
  type OperatorKeyPrincipal,
  type OrganizationKeyPrincipal,
  requireScope,
} from "./api-key.verifier.ts";
