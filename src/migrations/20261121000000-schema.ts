import { Migration } from "@mikro-orm/migrations";

export class Schema extends Migration {
  override name = "20261121000000-schema";

  override up(): void | Promise<void> {
    this.addSql(
      `create table "access_revision" ("id" boolean not null, "revision" int not null, primary key ("id"));`,
    );

    this.addSql(
      `create table "failure_reason" ("code" text not null, "label" text not null, "applies_to_failed" boolean not null, "applies_to_on_hold" boolean not null, "next_step" text not null, "position" int not null, primary key ("code"));`,
    );
    this.addSql(
      `alter table "failure_reason" add constraint "failure_reason_next_step_check" check ("next_step" in ('retry', 'action', 'return'));`,
    );

    this.addSql(
      `create table "idempotency_record" ("organization_id" uuid not null, "route" text not null, "key" text not null, "fingerprint" bytea not null, "answer" text null, "locked_until" timestamptz(3) not null, "expires_at" timestamptz(3) not null, primary key ("organization_id", "route", "key"));`,
    );
    this.addSql(`create index "idempotency_record_expiry" on "idempotency_record" ("expires_at");`);

    this.addSql(
      `create table "job_count" ("organization_id" uuid not null, "kind" text not null, "value" text not null, "count" int not null, primary key ("organization_id", "kind", "value"));`,
    );
    this.addSql(
      `alter table "job_count" add constraint "job_count_kind_check" check ("kind" in ('status', 'created_day'));`,
    );

    this.addSql(
      `create table "job_count_change" ("id" bigserial primary key, "organization_id" uuid not null, "kind" text not null, "value" text not null, "change" int not null);`,
    );
    this.addSql(`create index "job_count_change_organization" on "job_count_change" ("organization_id");`);
    this.addSql(
      `alter table "job_count_change" add constraint "job_count_change_kind_check" check ("kind" in ('status', 'created_day'));`,
    );

    this.addSql(
      `create table "job_event" ("id" uuid not null, "transaction_id" xid8 not null default pg_current_xact_id(), "position" bigserial, "type" text not null, "job_id" uuid not null, "agent_id" uuid not null, "contractor_id" uuid null, "sequence" int not null, "actor_type" text not null, "actor_id" uuid null, "request_id" text null, "occurred_at" timestamptz(3) not null default now(), "changes" jsonb not null, "job" jsonb not null, primary key ("id"));`,
    );
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
      `create table "organization" ("id" uuid not null, "name" text not null, "type" text not null, "suspended_at" timestamptz(3) null, "created_at" timestamptz(3) not null default now(), primary key ("id"));`,
    );
    this.addSql(`alter table "organization" add constraint "organization_name_unique" unique ("name");`);
    this.addSql(
      `alter table "organization" add constraint "organization_type_check" check ("type" in ('agent', 'contractor'));`,
    );

    this.addSql(
      `create table "job" ("id" uuid not null, "marking_number" text collate "C" not null, "agent_id" uuid not null, "contractor_id" uuid null, "batch_number" text null, "group_code" text null, "piece_quantity" int null, "labels" text null, "pts" double precision null, "weight" double precision null, "recipient_name" text null, "recipient_contact" text null, "delivery_address" text null, "postal_code" text null, "scheduled_date" date null, "instructions" text null, "normalized_status" text not null default 'pending', "failure_reason" text null, "scheduled_delivery_date" date null, "scheduled_delivery_pending" boolean not null default false, "provider_status" text null, "version" int not null default 1, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), primary key ("id"));`,
    );
    // Deep pages are quick as long as most of the table is known to be visible, so it is vacuumed early.
    this.addSql(
      `alter table "job" set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);`,
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
      `create table "api_key" ("id" uuid not null, "lookup" text not null, "secret_hash" bytea not null, "organization_id" uuid not null, "name" text not null, "scopes" text[] not null, "cidrs" text[] null, "rate_limits" jsonb null, "created_by" text not null, "created_at" timestamptz(3) not null default now(), "expires_at" timestamptz(3) null, "revoked_at" timestamptz(3) null, "last_used_at" timestamptz(3) null, primary key ("id"));`,
    );
    this.addSql(`alter table "api_key" add constraint "api_key_lookup_unique" unique ("lookup");`);

    this.addSql(
      `create unlogged table "rate_limit_bucket" ("id" text not null, "tokens" double precision not null, "allowed" boolean not null, "updated_at" timestamptz(6) not null, primary key ("id"));`,
    );

    this.addSql(
      `alter table "job" add constraint "job_agent_id_foreign" foreign key ("agent_id") references "organization" ("id");`,
    );
    this.addSql(
      `alter table "job" add constraint "job_contractor_id_foreign" foreign key ("contractor_id") references "organization" ("id") on delete no action;`,
    );

    this.addSql(
      `alter table "api_key" add constraint "api_key_organization_id_foreign" foreign key ("organization_id") references "organization" ("id");`,
    );
  }
}
