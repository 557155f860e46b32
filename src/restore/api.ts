/** The exports of this feature: other features and the adapters import only from here. */
export { DatabaseIdentityRecord } from "./database-identity.entity.ts";
export { finishRestore, type RestoreResult } from "./restore.service.ts";
export { acceptSecret, checkSecret, hasSealedData, type UnreadableSecrets } from "./secret-check.service.ts";
export { createStartupCheck, RECOVERED_MESSAGE } from "./startup-checks.ts";
