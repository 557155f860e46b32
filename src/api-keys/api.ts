/** The exports of this feature: other features and the adapters import only from here. */
export type { ApiKeyPrincipal, OperatorKeyPrincipal, OrganizationKeyPrincipal } from "./api-key.cache.ts";
export { type CredentialHeaders, findApiKey, requireApiKey } from "./api-key.credentials.ts";
export { AccessRevision, ApiKey, type Scope, scopes } from "./api-key.entity.ts";
export { parseLookup } from "./api-key.format.ts";
export type { GrantorPrincipal } from "./api-key.grantor.ts";
export type { IssuedKey } from "./api-key.issue.ts";
export { purgeEndedKeys } from "./api-key.purge.ts";
export { keysByIds, type KeyView } from "./api-key.queries.ts";
export { withKeyRevocation } from "./api-key.revocation.service.ts";
export { type ApiKeyService, createApiKeyService, setSuspended } from "./api-key.service.ts";
export { createKeyVerifier, keyRequired, type KeyVerifier, requireScope } from "./api-key.verifier.ts";
