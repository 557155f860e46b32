/** Every entity, listed by hand: what MikroORM knows and the migrations cover. */
import { AccessRevision, ApiKey } from "./api-keys/api-key.entity.ts";
import { JobEvent } from "./events/event.entity.ts";
import { IdempotencyRecord } from "./http/idempotency.entity.ts";
import { RateLimitBucket } from "./api-keys/rate-limit.entity.ts";
import { JobCount, JobCountChange } from "./jobs/job-count.entity.ts";
import { FailureReason, JobStatus } from "./jobs/job.codes.entity.ts";
import { Job } from "./jobs/job.entity.ts";
import { Organization } from "./organizations/organization.entity.ts";
import { WebhookEndpoint } from "./webhooks/endpoint.entity.ts";

export const entities = [
  Organization,
  ApiKey,
  AccessRevision,
  JobStatus,
  FailureReason,
  Job,
  JobCount,
  JobCountChange,
  JobEvent,
  IdempotencyRecord,
  RateLimitBucket,
  WebhookEndpoint,
];
