/** All MikroORM entities. A new entity must be added here to be mapped and migrated. */
import { AuditEntry } from "../audit/api.ts";
import {
  AccountRequest,
  AccountRequestNote,
  EmailToken,
  Invitation,
  SavedView,
  SsoConnection,
  UserCredential,
  UserPasskey,
  UserSession,
  UserTwoFactor,
  UserVerification,
} from "../accounts/api.ts";
import { User, Organization } from "../organizations/api.ts";
import { AccessRevision, ApiKey } from "../api-keys/api.ts";
import { JobEvent } from "../events/api.ts";
import { IdempotencyRecord } from "../idempotency/api.ts";
import { RateLimitBucket } from "../rate-limits/api.ts";
import { FailureReason, Job, JobCounter, JobCounterDelta, JobStatus } from "../jobs/api.ts";
import { Mail } from "../mail/api.ts";
import { Notification, NotificationSettings } from "../notifications/api.ts";
import { DatabaseIdentityRecord } from "../restore/api.ts";
import { TestRun } from "../test-mode/api.ts";
import { WebhookEndpoint } from "../webhooks/api.ts";

export const entities = [
  Organization,
  ApiKey,
  AccessRevision,
  JobStatus,
  FailureReason,
  Job,
  JobCounter,
  JobCounterDelta,
  JobEvent,
  IdempotencyRecord,
  RateLimitBucket,
  WebhookEndpoint,
  User,
  UserCredential,
  UserPasskey,
  UserTwoFactor,
  UserSession,
  UserVerification,
  AccountRequest,
  AccountRequestNote,
  Invitation,
  EmailToken,
  AuditEntry,
  SavedView,
  SsoConnection,
  Mail,
  Notification,
  NotificationSettings,
  DatabaseIdentityRecord,
  TestRun,
];
