/** All operations that are declared. */
import { accountOperations, apiKeyOperations } from "../api-keys/operations.ts";
import { eventOperations } from "../events/operations.ts";
import { jobOperations, referenceOperations } from "../jobs/operations.ts";
import { requestLogOperations } from "../request-log/operations.ts";
import { testModeOperations } from "../test-mode/operations.ts";
import { webhookOperations } from "../webhooks/operations.ts";
import type { Operation } from "./operation.ts";

type ServicesOf<Operations> = Operations extends readonly Operation<infer Services>[] ? Services : never;

export type OperationServices = ServicesOf<typeof jobOperations> &
  ServicesOf<typeof eventOperations> &
  ServicesOf<typeof referenceOperations> &
  ServicesOf<typeof webhookOperations> &
  ServicesOf<typeof apiKeyOperations> &
  ServicesOf<typeof requestLogOperations> &
  ServicesOf<typeof testModeOperations>;

export const operations: readonly Operation<OperationServices>[] = [
  ...jobOperations,
  ...eventOperations,
  ...referenceOperations,
  ...webhookOperations,
  ...accountOperations,
  ...requestLogOperations,
  ...apiKeyOperations,
  ...testModeOperations,
];
