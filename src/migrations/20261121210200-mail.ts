import { Migration } from "@mikro-orm/migrations";

/** The queue of mails, which is also the outbox that operators look at; and when owners were last written to about an endpoint. */
export class MailQueue extends Migration {
  override name = "20261121210200-mail";

  override up(): void {
    this.addSql(`
      create table "mail" ("id" uuid not null, "recipient" text not null, "kind" text not null, "subject" text not null, "shown_text" text not null, "sealed_body" text null, "status" text not null default 'waiting', "attempts" int not null default 0, "due_at" timestamptz(3) null default now(), "lease_token" uuid null, "last_error" text null, "created_at" timestamptz(3) not null default now(), "sent_at" timestamptz(3) null, primary key ("id"));`);
    this.addSql(`create index "mail_due" on "mail" ("status", "due_at");`);
    this.addSql(`create index "mail_outbox" on "mail" ("status", "id");`);
    this.addSql(
      `alter table "mail" add constraint "mail_status_check" check ("status" in ('waiting', 'sent', 'failed', 'kept'));`,
    );

    this.addSql(`alter table "webhook_endpoint" add column "trouble_told_at" timestamptz(3) null;`);
  }
}
