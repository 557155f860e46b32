/** The exports of this feature: other features and the adapters import only from here. */
export { changeKeys, lockOrganization, purgeEndedKeys } from "./changes.ts";
export { AccessRevision, ApiKey, type Scope, scopes } from "./entity.ts";
export { type ApiKeyView, toApiKeyView } from "./view.ts";
export { ApiKeyService, keysByIds, MAX_ACTIVE_KEYS } from "./service.ts";
export {
  findApiKey,
  isKeyHeader,
  type KeyHeader,
  keyHeadersOf,
  keyRequired,
  parsePrefix,
  requireApiKey,
  unauthorized,
} from "./format.ts";
export { type ApiKeyPrincipal, KeyVerifier } from "./verifier.ts";
