import { Migration } from "@mikro-orm/migrations";

export class WebhookEndpoints extends Migration {
  override name = "20261121160000-webhook-endpoints";

  override up(): void | Promise<void> {
    this.addSql(`
      create table "webhook_endpoint" ("id" uuid not null, "organization_id" uuid not null, "url" text not null, "description" text not null default '', "event_types" text[] null, "sealed_headers" text null, "secrets" jsonb not null, "max_in_flight" int not null default 8, "per_second" int not null default 50, "status" text not null default 'active', "disabled_reason" text null, "status_since" timestamptz(3) not null default now(), "blocked_until" timestamptz(3) null, "circuit_step" int null, "failing_since" timestamptz(3) null, "version" int not null default 1, "created_by" text not null, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "deleted_at" timestamptz(3) null, primary key ("id"));`);
    this.addSql(`create index "webhook_endpoint_organization" on "webhook_endpoint" ("organization_id");`);

    this.addSql(
      `alter table "webhook_endpoint" add constraint "webhook_endpoint_organization_id_foreign" foreign key ("organization_id") references "organization" ("id");`,
    );
    this.addSql(
      `alter table "webhook_endpoint" add constraint "webhook_endpoint_status_check" check ("status" in ('active', 'paused', 'disabled'));`,
    );
    this.addSql(
      `alter table "webhook_endpoint" add constraint "webhook_endpoint_disabled_reason_check" check ("disabled_reason" in ('gone', 'failing'));`,
    );
  }
}
