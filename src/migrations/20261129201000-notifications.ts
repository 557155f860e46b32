/** The choices of users, and the notifications that were sent to them. */
import { Migration } from "@mikro-orm/migrations";

export class Notifications extends Migration {
  override name = "20261129201000-notifications";

  override up(): void {
    this.addSql(
      `create table "notification_settings" ("user_id" uuid not null, "mail" text[] null, "webhook" text[] not null default '{}', "webhook_url" text null, "webhook_failure" text null, "webhook_failed_at" timestamptz(3) null, primary key ("user_id"));`,
    );
    this.addSql(
      `create table "notification" ("id" uuid not null, "user_id" uuid not null, "kind" text not null, "key" text not null, "message" text null, "attempts" int not null default 0, "due_at" timestamptz(3) null, "created_at" timestamptz(3) not null default now(), primary key ("id"));`,
    );
    this.addSql(`create index "notification_due" on "notification" ("due_at") where due_at is not null;`);
    this.addSql(`create index "notification_created" on "notification" ("created_at");`);
    this.addSql(
      `alter table "notification" add constraint "notification_once" unique ("user_id", "kind", "key");`,
    );
    this.addSql(
      `alter table "notification_settings" add constraint "notification_settings_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on update cascade on delete cascade;`,
    );
    this.addSql(
      `alter table "notification" add constraint "notification_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "notification" add constraint "notification_kind_check" check ("kind" in ('endpoint_failing', 'key_expiring', 'late_jobs', 'weekly_digest'));`,
    );
  }
}
