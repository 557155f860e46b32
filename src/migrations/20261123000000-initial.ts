/**
 * The whole schema of the first release. `#tables` is what MikroORM generates from the entities; the constants are what
 * entities cannot express: functions, partitioned tables, storage settings and the rows of the reference tables.
 */
import { Migration } from "@mikro-orm/migrations";

/**
 * Defaults call these functions, so they come first. PostgreSQL inlines them into its plans. Going on after a restore
 * replaces both, so that no event number or job version is used twice (`src/restore`).
 */
const FUNCTIONS = [
  `create function feed_sequence(transaction_id xid8) returns xid8 language sql immutable parallel safe
    as $$ select (transaction_id::text::bigint + 0)::text::xid8 $$;`,
  `create function next_version(version int) returns int language sql immutable parallel safe
    as $$ select greatest(version, 0) + 1 $$;`,
];

const STORAGE = [
  // Deep pages read the index alone while the visibility map is current, so the table is vacuumed early.
  `alter table job set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);`,
  // A crash may empty the token buckets, so they need no WAL.
  `alter table rate_limit_bucket set unlogged;`,
];

/**
 * Pending deliveries have a partition of their own, so the queue stays as small as its backlog. The log is partitioned by
 * week, so that a week is dropped instead of deleted row by row; `webhooks/deliveries/weekly-partitions.sql.ts` creates the weeks.
 */
const DELIVERIES = [
  `create table webhook_delivery (
    id uuid not null,
    -- no foreign key: it would lock the endpoint's row for each event
    endpoint_id uuid not null,
    event_id uuid not null,
    event_type text not null,
    -- null for a test event, which has no job
    job_id uuid,
    origin text not null default 'event' check (origin in ('event', 'replay', 'test')),
    status text not null default 'pending' check (status in ('pending', 'delivered', 'failed', 'discarded')),
    -- counted when an attempt starts
    attempts int not null default 0,
    -- pending: when to send it; while it is being sent: when the lease expires
    due_at timestamptz(3) not null default clock_timestamp(),
    lease_token uuid,
    -- how the last attempt ended
    outcome text,
    finished_at timestamptz(3),
    -- sent again after a restore, with a header: it may have been sent before
    after_restore boolean not null default false,
    primary key (id, status)
  ) partition by list (status);`,
  `create table webhook_delivery_pending partition of webhook_delivery for values in ('pending')
    with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000);`,
  // Two lanes: never sent, and to be retried or being sent.
  `create index webhook_delivery_never_attempted on webhook_delivery_pending (endpoint_id, id) where attempts = 0;`,
  `create index webhook_delivery_retrying on webhook_delivery_pending (endpoint_id, due_at) where attempts > 0;`,
  `create table webhook_delivery_finished partition of webhook_delivery
    for values in ('delivered', 'failed', 'discarded') partition by range (id);`,
  `create index webhook_delivery_log on webhook_delivery_finished (endpoint_id, id);`,
  // Failed deliveries are listed and replayed on their own, and are rare among the delivered ones.
  `create index webhook_delivery_failed on webhook_delivery_finished (endpoint_id, id) where status = 'failed';`,

  `create table webhook_attempt (
    id uuid not null,
    delivery_id uuid not null,
    number int not null,
    started_at timestamptz(3) not null,
    duration_ms int not null,
    outcome text not null,
    http_status int,
    error text,
    request_headers json not null,
    response_headers json,
    -- its first 4 KiB
    response_body text,
    primary key (delivery_id, id)
  ) partition by range (delivery_id);`,
  // Finds an attempt by its id. UUIDv7 ids are inserted in the order of time, so BRIN is enough: one entry per 256 KiB.
  `create index webhook_attempt_id on webhook_attempt using brin (id)
    with (pages_per_range = 32, autosummarize = on);`,
];

/** Requests by API key, partitioned by day (`request-log/partitions.sql.ts` creates and drops the days), and their counts. */
const REQUEST_LOG = [
  `create table request_log (
    -- the 128 bits of its request_id, whose first 48 are the time
    id uuid not null,
    -- no foreign keys: the log must not wait for the rows that it refers to
    organization_id uuid not null,
    key_id uuid not null,
    method text not null,
    path text not null,
    status smallint not null,
    duration_ms real not null,
    error_code text,
    request_body text,
    response_body text,
    -- finds one request as well as the newest requests of an organisation
    primary key (organization_id, id)
  ) partition by range (id);`,
  `create index request_log_unsuccessful on request_log (organization_id, id) where status >= 400;`,
  // For operators, who know only a request_id. Rows are inserted in the order of time, so BRIN costs almost nothing.
  `create index request_log_time on request_log using brin (id) with (pages_per_range = 16, autosummarize = on);`,
  `create table request_usage (
    organization_id uuid not null,
    day date not null,
    key_id uuid not null,
    succeeded bigint not null,
    refused bigint not null,
    failed bigint not null,
    -- the sum over all of them
    duration_ms float8 not null,
    primary key (organization_id, day, key_id)
  ) with (fillfactor = 70);`,
  `create index request_usage_day on request_usage (day);`,
];

/** code, label, category, terminal */
const STATUSES = `
pending|Pending|open|false
at_warehouse|At warehouse|open|false
scheduled|Scheduled|open|false
assigned|Assigned|open|false
picked_up|Picked up|in_progress|false
in_transit|In transit|in_progress|false
out_for_delivery|Out for delivery|in_progress|false
arrived|Arrived|in_progress|false
ready_for_collection|Ready for collection|in_progress|false
completed|Completed|success|true
partially_completed|Partially completed|success|true
failed|Delivery failed|attention|false
on_hold|On hold|attention|false
returning|Returning|return|false
returned|Returned|return|true
cancelled|Cancelled|cancelled|true`;

/** code, applies to failed (F) and on hold (H), next step; the label is the code in words */
const FAILURE_REASONS = `
recipient_unavailable|F|retry
recipient_unreachable|FH|retry
recipient_refused|F|return
recipient_moved|F|action
business_closed|FH|retry
reschedule_requested|FH|retry
verification_failed|F|retry
wrong_incomplete_address|FH|action
address_not_found|F|action
access_restricted|F|retry
no_safe_place|F|retry
outside_service_area|FH|return
payment_not_received|FH|retry
parcel_damaged|FH|return
parcel_lost|FH|return
parcel_missing|FH|action
wrong_parcel|FH|action
oversize_overweight|FH|action
vehicle_breakdown|FH|retry
driver_unavailable|FH|retry
accident|FH|retry
insufficient_time|F|retry
capacity_exceeded|F|retry
misrouted|F|retry
missing_proof|F|action
shipper_cancelled|FH|return
shipper_data_incorrect|FH|action
awaiting_instructions|FH|action
severe_weather|FH|retry
road_closure|FH|retry
force_majeure|FH|retry
public_holiday|FH|retry
customs_hold|H|action
security_hold|H|action
max_attempts_exceeded|F|return
other|FH|action
unknown|FH|action`;

const rowsOf = (table: string): string[][] =>
  table
    .trim()
    .split("\n")
    .map((line) => line.split("|"));

const inWords = (code: string): string => (code.charAt(0).toUpperCase() + code.slice(1)).replaceAll("_", " ");

/** The rows of the reference tables, and the one row that counts changes of access. */
function referenceRows(): string[] {
  const statuses = rowsOf(STATUSES).map(
    ([code, label, category, terminal], position) =>
      `insert into job_status (code, label, category, is_terminal, position)
        values ('${code}', '${label}', '${category}', ${terminal}, ${position});`,
  );
  const reasons = rowsOf(FAILURE_REASONS).map(
    ([code = "", applies = "", next], position) =>
      `insert into failure_reason (code, label, applies_to_failed, applies_to_on_hold, next_step, position)
        values ('${code}', '${inWords(code)}', ${applies.includes("F")}, ${applies.includes("H")}, '${next}', ${position});`,
  );
  return [...statuses, ...reasons, `insert into access_revision (id, revision) values (true, 0);`];
}

export class Initial extends Migration {
  override name = "20261123000000-initial";

  override up(): void {
    this.#add(FUNCTIONS);
    this.#tables();
    this.#add(STORAGE);
    this.#add(DELIVERIES);
    this.#add(REQUEST_LOG);
    this.#add(referenceRows());
  }

  #add(statements: readonly string[]): void {
    for (const statement of statements) this.addSql(statement);
  }

  #tables(): void {
    this.addSql(
      `create table "access_revision" ("id" boolean not null, "revision" int not null, primary key ("id"));`,
    );

    this.addSql(
      `create table "email_token" ("kind" text not null, "subject_id" uuid not null, "token_hash" bytea not null, "email" text not null, "expires_at" timestamptz(3) not null, "used_at" timestamptz(3) null, primary key ("kind", "subject_id"));`,
    );
    this.addSql(`alter table "email_token" add constraint "email_token_token_hash" unique ("token_hash");`);
    this.addSql(
      `alter table "email_token" add constraint "email_token_kind_check" check ("kind" in ('registration', 'invitation', 'password_reset', 'account_request_answer'));`,
    );

    this.addSql(
      `create table "audit_entry" ("id" uuid not null, "at" timestamptz(3) not null default clock_timestamp(), "action" text not null, "actor_type" text not null, "actor_id" uuid null, "actor" text not null, "by_operator" boolean not null, "organization_id" uuid null, "subject" text null, "details" jsonb null, "ip_address" text null, "request_id" text null, primary key ("id"));`,
    );
    this.addSql(`create index "audit_entry_organization" on "audit_entry" ("organization_id", "id");`);
    this.addSql(`create index "audit_entry_action" on "audit_entry" ("action", "id");`);
    this.addSql(
      `alter table "audit_entry" add constraint "audit_entry_actor_type_check" check ("actor_type" in ('key', 'user', 'system'));`,
    );

    this.addSql(
      `create table "database_identity" ("id" boolean not null, "system_identifier" text null, "database_oid" text not null, "timeline" int not null, "secret_check" text null, primary key ("id"));`,
    );

    this.addSql(
      `create table "failure_reason" ("code" text not null, "label" text not null, "applies_to_failed" boolean not null, "applies_to_on_hold" boolean not null, "next_step" text not null, "position" int not null, primary key ("code"));`,
    );
    this.addSql(
      `alter table "failure_reason" add constraint "failure_reason_next_step_check" check ("next_step" in ('retry', 'action', 'return'));`,
    );

    this.addSql(
      `create table "idempotency_record" ("organization_id" uuid not null, "route" text not null, "key" text not null, "fingerprint" bytea not null, "answer" text not null, "bytes" int not null default 0, "expires_at" timestamptz(3) not null, primary key ("organization_id", "route", "key"));`,
    );
    this.addSql(`create index "idempotency_record_expiry" on "idempotency_record" ("expires_at");`);
    this.addSql(
      `create index "idempotency_record_stored" on "idempotency_record" ("organization_id", "expires_at", "bytes");`,
    );

    this.addSql(
      `create table "job_counter" ("organization_id" uuid not null, "kind" text not null, "value" text not null, "count" int not null, primary key ("organization_id", "kind", "value"));`,
    );
    this.addSql(
      `alter table "job_counter" add constraint "job_counter_kind_check" check ("kind" in ('status', 'created_day'));`,
    );

    this.addSql(
      `create table "job_counter_delta" ("id" bigserial primary key, "organization_id" uuid not null, "kind" text not null, "value" text not null, "change" int not null);`,
    );
    this.addSql(`create index "job_counter_delta_organization" on "job_counter_delta" ("organization_id");`);
    this.addSql(
      `alter table "job_counter_delta" add constraint "job_counter_delta_kind_check" check ("kind" in ('status', 'created_day'));`,
    );

    this.addSql(
      `create table "job_event" ("id" uuid not null, "transaction_id" xid8 not null default feed_sequence(pg_current_xact_id()), "position" bigserial, "type" text not null, "job_id" uuid not null, "agent_id" uuid not null, "contractor_id" uuid null, "sequence" int not null, "actor_type" text not null, "actor_id" uuid null, "request_id" text null, "trace_parent" text null, "occurred_at" timestamptz(3) not null default now(), "changes" jsonb not null, "job" jsonb not null, primary key ("id"));`,
    );
    this.addSql(`create index "job_event_feed" on "job_event" ("transaction_id", "position");`);
    this.addSql(
      `create index "job_event_agent_feed" on "job_event" ("agent_id", "transaction_id", "position");`,
    );
    this.addSql(
      `create index "job_event_contractor_feed" on "job_event" ("contractor_id", "transaction_id", "position");`,
    );
    this.addSql(`alter table "job_event" add constraint "job_event_sequence" unique ("job_id", "sequence");`);
    this.addSql(
      `alter table "job_event" add constraint "job_event_type_check" check ("type" in ('job.created', 'job.updated', 'job.status_changed', 'job.assigned'));`,
    );
    this.addSql(
      `alter table "job_event" add constraint "job_event_actor_type_check" check ("actor_type" in ('key', 'user', 'system'));`,
    );

    this.addSql(
      `create table "job_status" ("code" text not null, "label" text not null, "category" text not null, "is_terminal" boolean not null default false, "position" int not null, primary key ("code"));`,
    );
    this.addSql(
      `alter table "job_status" add constraint "job_status_category_check" check ("category" in ('open', 'in_progress', 'success', 'attention', 'return', 'cancelled'));`,
    );

    this.addSql(
      `create table "mail" ("id" uuid not null, "recipient" text not null, "kind" text not null, "subject" text not null, "redacted_text" text not null, "sealed_body" text null, "status" text not null default 'pending', "attempts" int not null default 0, "due_at" timestamptz(3) null default now(), "lease_token" uuid null, "last_error" text null, "created_at" timestamptz(3) not null default now(), "sent_at" timestamptz(3) null, primary key ("id"));`,
    );
    this.addSql(`create index "mail_due" on "mail" ("status", "due_at");`);
    this.addSql(`create index "mail_outbox" on "mail" ("status", "id");`);
    this.addSql(
      `alter table "mail" add constraint "mail_status_check" check ("status" in ('pending', 'sent', 'failed', 'stored'));`,
    );

    this.addSql(
      `create table "organization" ("id" uuid not null, "name" text not null, "type" text not null, "suspended_at" timestamptz(3) null, "created_at" timestamptz(3) not null default now(), primary key ("id"));`,
    );
    this.addSql(`alter table "organization" add constraint "organization_name_unique" unique ("name");`);
    this.addSql(
      `alter table "organization" add constraint "organization_type_check" check ("type" in ('agent', 'contractor'));`,
    );

    this.addSql(
      `create table "job" ("id" uuid not null, "marking_number" text collate "C" not null, "agent_id" uuid not null, "contractor_id" uuid null, "batch_number" text null, "group_code" text null, "piece_quantity" int null, "labels" text null, "pts" double precision null, "weight" double precision null, "recipient_name" text null, "recipient_contact" text null, "delivery_address" text null, "postal_code" text null, "scheduled_date" date null, "instructions" text null, "normalized_status" text not null default 'pending', "failure_reason" text null, "scheduled_delivery_date" date null, "scheduled_delivery_pending" boolean not null default false, "provider_status" text null, "version" int not null default next_version(0), "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), primary key ("id"));`,
    );
    this.addSql(`alter table "job" add constraint "job_marking_number_unique" unique ("marking_number");`);
    this.addSql(`create index "job_agent_created" on "job" ("agent_id", "created_at", "id");`);
    this.addSql(`create index "job_contractor_created" on "job" ("contractor_id", "created_at", "id");`);
    this.addSql(
      `create index "job_agent_status" on "job" ("agent_id", "normalized_status", "created_at", "id");`,
    );
    this.addSql(
      `create index "job_contractor_status" on "job" ("contractor_id", "normalized_status", "created_at", "id");`,
    );
    this.addSql(
      `create index "job_agent_updated" on "job" ("agent_id", "updated_at", "id") include ("created_at");`,
    );
    this.addSql(
      `create index "job_contractor_updated" on "job" ("contractor_id", "updated_at", "id") include ("created_at");`,
    );
    this.addSql(
      `create index "job_agent_scheduled" on "job" ("agent_id", "scheduled_date", "id") include ("created_at");`,
    );
    this.addSql(
      `create index "job_contractor_scheduled" on "job" ("contractor_id", "scheduled_date", "id") include ("created_at");`,
    );
    this.addSql(`create index "job_batch" on "job" ("batch_number", "agent_id", "contractor_id");`);

    this.addSql(
      `create table "invitation" ("id" uuid not null, "organization_id" uuid null, "email" text not null, "role" text not null, "invited_by" text not null, "invited_at" timestamptz(3) not null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "invitation" add constraint "invitation_organization_email" unique ("organization_id", "email");`,
    );
    this.addSql(
      `create unique index "invitation_operator_email" on "invitation" ("email") where organization_id is null;`,
    );
    this.addSql(
      `alter table "invitation" add constraint "invitation_role_check" check ("role" in ('owner', 'member', 'operator'));`,
    );

    this.addSql(
      `create table "api_key" ("id" uuid not null, "prefix" text not null, "secret_hash" bytea not null, "organization_id" uuid null, "name" text not null, "scopes" text[] not null, "cidrs" text[] null, "rate_limits" jsonb null, "created_by" text not null, "created_at" timestamptz(3) not null default now(), "expires_at" timestamptz(3) null, "revoked_at" timestamptz(3) null, "last_used_at" timestamptz(3) null, "rate_bucket" uuid null, "access_revision" int not null default 0, primary key ("id"));`,
    );
    this.addSql(`alter table "api_key" add constraint "api_key_prefix_unique" unique ("prefix");`);
    this.addSql(`create index "api_key_organization" on "api_key" ("organization_id", "expires_at");`);
    this.addSql(`create index "api_key_access_revision" on "api_key" ("access_revision");`);

    this.addSql(
      `create table "account_request" ("id" uuid not null, "status" text not null default 'pending', "email" text not null, "organization_name" text not null, "organization_type" text not null, "message" text null, "created_at" timestamptz(3) not null default now(), "decided_at" timestamptz(3) null, "decided_by" text null, "organization_id" uuid null, primary key ("id"));`,
    );
    this.addSql(`create index "account_request_status" on "account_request" ("status", "id");`);
    this.addSql(
      `create unique index "account_request_open_email" on "account_request" ("email") where status in ('pending', 'awaiting_reply', 'approved');`,
    );
    this.addSql(
      `alter table "account_request" add constraint "account_request_status_check" check ("status" in ('pending', 'awaiting_reply', 'approved', 'registered', 'rejected'));`,
    );
    this.addSql(
      `alter table "account_request" add constraint "account_request_organization_type_check" check ("organization_type" in ('agent', 'contractor'));`,
    );

    this.addSql(
      `create table "account_request_note" ("id" uuid not null, "request_id" uuid not null, "at" timestamptz(3) not null default clock_timestamp(), "by" text not null, "kind" text not null, "text" text not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "account_request_note_request" on "account_request_note" ("request_id", "id");`,
    );
    this.addSql(
      `alter table "account_request_note" add constraint "account_request_note_kind_check" check ("kind" in ('note', 'question', 'answer', 'rejection', 'approval'));`,
    );

    this.addSql(
      `create table "rate_limit_bucket" ("id" text not null, "tokens" double precision not null, "allowed" boolean not null, "updated_at" timestamptz(6) not null, primary key ("id"));`,
    );

    this.addSql(
      `create table "user_account" ("id" uuid not null, "name" text not null, "email" text not null, "email_verified" boolean not null default true, "organization_id" uuid null, "role" text not null, "two_factor_enabled" boolean not null default false, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "last_seen_at" timestamptz(3) null, primary key ("id"));`,
    );
    this.addSql(`alter table "user_account" add constraint "user_account_email_unique" unique ("email");`);
    this.addSql(`create index "user_account_organization" on "user_account" ("organization_id");`);
    this.addSql(
      `alter table "user_account" add constraint "user_account_operator_check" check ((role = 'operator') = (organization_id is null));`,
    );
    this.addSql(
      `alter table "user_account" add constraint "user_account_role_check" check ("role" in ('owner', 'member', 'operator'));`,
    );

    this.addSql(
      `create table "saved_view" ("id" uuid not null, "user_id" uuid not null, "name" text not null, "query" text not null, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), primary key ("id"));`,
    );
    this.addSql(`alter table "saved_view" add constraint "saved_view_user_name" unique ("user_id", "name");`);

    this.addSql(
      `create table "user_credential" ("id" uuid not null, "user_id" uuid not null, "account_id" text not null, "provider_id" text not null, "password" text not null, "browser_epoch" uuid not null default gen_random_uuid(), "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), primary key ("id"));`,
    );
    this.addSql(
      `alter table "user_credential" add constraint "user_credential_user_id_unique" unique ("user_id");`,
    );

    this.addSql(
      `create table "user_session" ("id" uuid not null, "user_id" uuid not null, "token" text not null, "ip_address" text null, "user_agent" text null, "created_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null, "expires_at" timestamptz(3) not null, "last_seen_at" timestamptz(3) not null default now(), "authenticated_at" timestamptz(3) not null default now(), primary key ("id"));`,
    );
    this.addSql(`alter table "user_session" add constraint "user_session_token_unique" unique ("token");`);
    this.addSql(`create index "user_session_user" on "user_session" ("user_id");`);
    this.addSql(`create index "user_session_expires_at" on "user_session" ("expires_at");`);
    this.addSql(`create index "user_session_last_seen_at" on "user_session" ("last_seen_at");`);

    this.addSql(
      `create table "user_two_factor" ("id" uuid not null, "user_id" uuid not null, "secret" text not null, "recovery_codes" text not null, "verified" boolean not null default false, "failures" int not null default 0, "locked_until" timestamptz(3) null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "user_two_factor" add constraint "user_two_factor_user_id_unique" unique ("user_id");`,
    );

    this.addSql(
      `create table "user_verification" ("id" uuid not null, "identifier" text not null, "value" text not null, "expires_at" timestamptz(3) not null, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), primary key ("id"));`,
    );
    this.addSql(`create index "user_verification_identifier" on "user_verification" ("identifier");`);
    this.addSql(`create index "user_verification_expires_at" on "user_verification" ("expires_at");`);

    this.addSql(
      `create table "webhook_endpoint" ("id" uuid not null, "organization_id" uuid not null, "url" text not null, "description" text not null default '', "event_types" text[] null, "sealed_headers" text null, "secrets" jsonb not null, "max_in_flight" int not null default 8, "per_second" int not null default 50, "status" text not null default 'active', "disabled_reason" text null, "status_since" timestamptz(3) not null default now(), "blocked_until" timestamptz(3) null, "circuit_step" int null, "failing_since" timestamptz(3) null, "last_alert_at" timestamptz(3) null, "version" int not null default 1, "created_by" text not null, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "deleted_at" timestamptz(3) null, primary key ("id"));`,
    );
    this.addSql(`create index "webhook_endpoint_organization" on "webhook_endpoint" ("organization_id");`);
    this.addSql(
      `alter table "webhook_endpoint" add constraint "webhook_endpoint_status_check" check ("status" in ('active', 'paused', 'disabled'));`,
    );
    this.addSql(
      `alter table "webhook_endpoint" add constraint "webhook_endpoint_disabled_reason_check" check ("disabled_reason" in ('gone', 'failing'));`,
    );

    this.addSql(
      `alter table "job" add constraint "job_agent_id_foreign" foreign key ("agent_id") references "organization" ("id");`,
    );
    this.addSql(
      `alter table "job" add constraint "job_contractor_id_foreign" foreign key ("contractor_id") references "organization" ("id") on delete no action;`,
    );

    this.addSql(
      `alter table "invitation" add constraint "invitation_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete no action;`,
    );

    this.addSql(
      `alter table "api_key" add constraint "api_key_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete no action;`,
    );

    this.addSql(
      `alter table "account_request" add constraint "account_request_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete no action;`,
    );

    this.addSql(
      `alter table "account_request_note" add constraint "account_request_note_request_id_foreign" foreign key ("request_id") references "account_request" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "user_account" add constraint "user_account_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete no action;`,
    );

    this.addSql(
      `alter table "saved_view" add constraint "saved_view_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "user_credential" add constraint "user_credential_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "user_session" add constraint "user_session_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "user_two_factor" add constraint "user_two_factor_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "webhook_endpoint" add constraint "webhook_endpoint_organization_id_foreign" foreign key ("organization_id") references "organization" ("id");`,
    );
  }
}
