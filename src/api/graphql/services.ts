/** The services that the GraphQL adapter calls. The composition root passes them in. */
import type {
  InvitationService,
  MemberService,
  OrganizationChanges,
  ReviewService,
  SavedViewService,
  SsoService,
} from "../../accounts/api.ts";
import type { ApiKeyService } from "../../api-keys/api.ts";
import type { EventService, EventTail } from "../../events/api.ts";
import type { JobReferenceData, JobService, OperatorJobService } from "../../jobs/api.ts";
import type { IdempotencyService } from "../../idempotency/api.ts";
import type { MailService } from "../../mail/api.ts";
import type { NotificationService } from "../../notifications/api.ts";
import type { Clock } from "../../core/clock.ts";
import type { RateLimits } from "../../rate-limits/api.ts";
import type { RequestLog } from "../../request-log/api.ts";
import type { TestModeService } from "../../test-mode/api.ts";
import type { DeliveryService, EndpointService, SecretReveal } from "../../webhooks/api.ts";

export interface GraphqlServices {
  readonly jobs: JobService;
  readonly operations: OperatorJobService;
  readonly referenceData: JobReferenceData;
  readonly keys: ApiKeyService;
  readonly endpoints: EndpointService;
  readonly secrets: SecretReveal;
  readonly deliveries: DeliveryService;
  readonly members: MemberService;
  readonly invitations: InvitationService;
  readonly reviews: ReviewService;
  readonly sso: SsoService;
  readonly organizationChanges: OrganizationChanges;
  readonly views: SavedViewService;
  readonly mails: MailService;
  readonly notifications: NotificationService;
  readonly requests: Pick<RequestLog, "get" | "list" | "usage">;
  readonly events: EventService;
  readonly tail: EventTail;
  readonly testMode: TestModeService;
  readonly clock: Clock;
  readonly idempotency: IdempotencyService;
  readonly limits: RateLimits | null;
}
