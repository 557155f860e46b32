/** The exports of this feature: other features and the adapters import only from here. */
export { DatabaseIdentityRecord } from "./database-identity.sql.ts";
export { checkDatabase, finishRestore, RECOVERED_MESSAGE, type RestoreResult } from "./service.ts";
export { acceptSecret, checkSecret, hasSealedData, type UnreadableSecrets } from "./secret-check.service.ts";
