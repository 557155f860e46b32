/** What every resolver is given: who asks, on what they read, and the services behind it all. */
import type { InvitationService } from "../accounts/invitation.service.ts";
import type { MemberService } from "../accounts/member.service.ts";
import type { ReviewService } from "../accounts/review.service.ts";
import type { SavedViewService } from "../accounts/saved-view.service.ts";
import type { SuspensionService } from "../accounts/suspension.service.ts";
import type { ApiKeyService } from "../api-keys/api-key.service.ts";
import type { RateLimits } from "../api-keys/rate-limit.ts";
import type { EventTail } from "../events/event.tail.ts";
import type { JobCodes } from "../jobs/job.codes.ts";
import type { JobOperations } from "../jobs/job.operations.ts";
import type { JobService } from "../jobs/job.service.ts";
import type { MailService } from "../mail/mail.service.ts";
import type { Clock } from "../platform/clock.ts";
import type { Queryable } from "../platform/database.ts";
import type { Viewer } from "../platform/principal.ts";
import { createFairTurnstile, type FairTurnstile } from "../platform/turnstile.ts";
import type { RequestLog } from "../request-log/request-log.service.ts";
import type { DeliveryService } from "../webhooks/delivery.service.ts";
import type { SecretReveal } from "../webhooks/endpoint.reveal.ts";
import type { EndpointService } from "../webhooks/endpoint.service.ts";
import type { Holder } from "./holder.ts";
import { createLoaders, type Loaders } from "./loaders.ts";

export interface GraphqlServices {
  readonly jobs: JobService;
  readonly operations: JobOperations;
  readonly codes: JobCodes;
  readonly keys: ApiKeyService;
  readonly endpoints: EndpointService;
  readonly secrets: SecretReveal;
  readonly deliveries: DeliveryService;
  readonly members: MemberService;
  readonly invitations: InvitationService;
  readonly reviews: ReviewService;
  readonly suspensions: SuspensionService;
  readonly views: SavedViewService;
  readonly mails: MailService;
  readonly requests: Pick<RequestLog, "list" | "usage">;
  readonly tail: EventTail;
  readonly clock: Clock;
  /** Null: rate limits are off. */
  readonly rateLimits: RateLimits | null;
}

/** One operation, or one event of a subscription. */
export interface OperationRequest {
  /** Null: the anonymous, who may look at the schema. */
  readonly holder: Holder | null;
  readonly requestId: string;
  /** Where it comes from. */
  readonly address: string | null;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Runs a call to another server. Meanwhile the request does not count as in flight. */
  readonly duringExternalCall: <Answer>(call: () => Promise<Answer>) => Promise<Answer>;
  /** For reading: its statements end with `signal`. */
  readonly database: Queryable;
  /** For the lists and aggregates of jobs that `viewer` sees: the same, or a copy that has all that they may have seen. */
  readonly readsOf: (viewer: Viewer) => Queryable;
}

/** What a door knows of an operation. */
export type OperationCall = Omit<OperationRequest, "database" | "readsOf">;

export interface GraphqlContext extends OperationRequest {
  /** Aggregates over many jobs, by organisation: each may read all of its jobs. */
  readonly statsTurns: FairTurnstile;
  readonly services: GraphqlServices;
  readonly loaders: Loaders;
}

export type ContextFactory = (request: OperationRequest) => GraphqlContext;

/** In this process: an operation may ask for twenty, and must not take every connection to PostgreSQL. */
const STATS_AT_ONCE = { places: 8, perKey: 4 };

export function createContextFactory(services: GraphqlServices): ContextFactory {
  const statsTurns = createFairTurnstile(STATS_AT_ONCE);
  return (request) => ({ ...request, services, statsTurns, loaders: createLoaders(request, services) });
}
