/** All operations that are declared. */
import { memberAccess, memberOperations } from "../accounts/operations.ts";
import { accountOperations, apiKeyAccess, apiKeyOperations } from "../api-keys/operations.ts";
import { eventAccess, eventOperations } from "../events/operations.ts";
import { jobAccess, jobOperations, referenceOperations, statusOperations } from "../jobs/operations.ts";
import { mailAccess, mailOperations } from "../mail/operations.ts";
import { notificationAccess, notificationOperations } from "../notifications/operations.ts";
import { requestLogAccess, requestLogOperations } from "../request-log/operations.ts";
import { testModeOperations } from "../test-mode/operations.ts";
import { secretOperations, webhookAccess, webhookOperations } from "../webhooks/operations.ts";
import { anyone, type Operation, type RestOperation } from "./operation.ts";

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

export type OperationServices = RestServices &
  ServicesOf<typeof memberOperations> &
  ServicesOf<typeof mailOperations> &
  ServicesOf<typeof notificationOperations> &
  ServicesOf<typeof secretOperations>;

export const operations: readonly Operation<OperationServices>[] = [
  ...restOperations,
  ...memberOperations,
  ...mailOperations,
  ...notificationOperations,
  ...secretOperations,
  ...statusOperations,
];

/** The access of the root fields of GraphQL with hand-written resolvers. */
export const rootAccess = {
  ...jobAccess,
  ...eventAccess,
  ...webhookAccess,
  ...apiKeyAccess,
  ...requestLogAccess,
  ...mailAccess,
  ...memberAccess,
  ...notificationAccess,
  /** By the type of each node. */
  node: anyone,
  nodes: anyone,
};
