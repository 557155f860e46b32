/** All operations that are declared. */
import { memberOperations } from "../accounts/operations.ts";
import { accountOperations, apiKeyOperations } from "../api-keys/operations.ts";
import { eventOperations } from "../events/operations.ts";
import { jobOperations, referenceOperations, statusOperations } from "../jobs/operations.ts";
import { mailOperations } from "../mail/operations.ts";
import { requestLogOperations } from "../request-log/operations.ts";
import { testModeOperations } from "../test-mode/operations.ts";
import { secretOperations, webhookOperations } from "../webhooks/operations.ts";
import type { Operation, RestOperation } from "./operation.ts";

type ServicesOf<Operations> = Operations extends readonly Operation<infer Needed>[] ? Needed : never;

export type RestServices = ServicesOf<typeof jobOperations> &
  ServicesOf<typeof eventOperations> &
  ServicesOf<typeof referenceOperations> &
  ServicesOf<typeof webhookOperations> &
  ServicesOf<typeof apiKeyOperations> &
  ServicesOf<typeof requestLogOperations> &
  ServicesOf<typeof testModeOperations>;

/** Those with a route in REST. */
export const restOperations: readonly RestOperation<RestServices>[] = [
  ...jobOperations,
  ...eventOperations,
  ...referenceOperations,
  ...webhookOperations,
  ...accountOperations,
  ...requestLogOperations,
  ...apiKeyOperations,
  ...testModeOperations,
];

type Services = RestServices &
  ServicesOf<typeof memberOperations> &
  ServicesOf<typeof mailOperations> &
  ServicesOf<typeof secretOperations>;

export const operations: readonly Operation<Services>[] = [
  ...restOperations,
  ...memberOperations,
  ...mailOperations,
  ...secretOperations,
  ...statusOperations,
];
