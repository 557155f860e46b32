/** Every entity, listed by hand: what MikroORM knows and the migrations cover. */
import { AuditEntry } from "./accounts/audit.entity.ts";
import { Invitation } from "./accounts/invitation.entity.ts";
import { AccountLink } from "./accounts/link.entity.ts";
import { AccountRequest, AccountRequestNote } from "./accounts/request.entity.ts";
import { UserSession, UserVerification } from "./accounts/session.entity.ts";
import { SavedView } from "./accounts/saved-view.entity.ts";
import { User, UserCredential, UserTwoFactor } from "./accounts/user.entity.ts";
import { AccessRevision, ApiKey } from "./api-keys/api-key.entity.ts";
import { JobEvent } from "./events/event.entity.ts";
import { IdempotencyRecord } from "./http/idempotency.entity.ts";
import { RateLimitBucket } from "./api-keys/rate-limit.entity.ts";
import { JobCount, JobCountChange } from "./jobs/job-count.entity.ts";
import { FailureReason, JobStatus } from "./jobs/job.codes.entity.ts";
import { Job } from "./jobs/job.entity.ts";
import { Mail } from "./mail/mail.entity.ts";
import { Organization } from "./organizations/organization.entity.ts";
import { DatabaseMark } from "./restoration/database-mark.entity.ts";
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
  User,
  UserCredential,
  UserTwoFactor,
  UserSession,
  UserVerification,
  AccountRequest,
  AccountRequestNote,
  Invitation,
  AccountLink,
  AuditEntry,
  SavedView,
  Mail,
  DatabaseMark,
];
