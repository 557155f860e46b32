/** The services that the GraphQL adapter calls. The composition root passes them in. */
import type { EventTail } from "../../events/api.ts";
import type { JobService, OperatorJobService } from "../../jobs/api.ts";
import type { IdempotencyService } from "../../idempotency/api.ts";
import type { Clock } from "../../core/clock.ts";
import type { OperationServices } from "../../operations/all.ts";
import type { RequestLog } from "../../request-log/api.ts";

export type GraphqlServices = OperationServices & {
  readonly jobs: JobService;
  readonly operations: OperatorJobService;
  readonly requests: Pick<RequestLog, "usage">;
  readonly tail: EventTail;
  readonly clock: Clock;
  readonly idempotency: IdempotencyService;
};
