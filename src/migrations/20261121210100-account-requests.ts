import { Migration } from "@mikro-orm/migrations";

/** Requests for an account, invitations, the links of their mails, and the log of who did what. */
export class AccountRequests extends Migration {
  override name = "20261121210100-account-requests";

  override up(): void {
    this.#requests();
    this.#invitations();
    this.#links();
    this.#audit();
  }

  #requests(): void {
    this.addSql(
      `create table "account_request" ("id" uuid not null, "status" text not null default 'pending', "email" text not null, "organization_name" text not null, "organization_type" text not null, "message" text null, "created_at" timestamptz(3) not null default now(), "decided_at" timestamptz(3) null, "decided_by" text null, "organization_id" uuid null, primary key ("id"));`,
    );
    this.addSql(`create index "account_request_status" on "account_request" ("status", "id");`);
    this.addSql(
      `create unique index "account_request_open_email" on "account_request" ("email") where status in ('pending', 'asked', 'approved');`,
    );
    this.addSql(
      `alter table "account_request" add constraint "account_request_status_check" check ("status" in ('pending', 'asked', 'approved', 'registered', 'rejected'));`,
    );
    this.addSql(
      `alter table "account_request" add constraint "account_request_organization_type_check" check ("organization_type" in ('agent', 'contractor'));`,
    );
    this.addSql(
      `alter table "account_request" add constraint "account_request_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete no action;`,
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
      `alter table "account_request_note" add constraint "account_request_note_request_id_foreign" foreign key ("request_id") references "account_request" ("id") on delete cascade;`,
    );
  }

  #invitations(): void {
    this.addSql(
      `create table "invitation" ("id" uuid not null, "organization_id" uuid null, "email" text not null, "role" text not null, "invited_by" text not null, "invited_at" timestamptz(3) not null, primary key ("id"));`,
    );
    this.addSql(
      `create unique index "invitation_operator_email" on "invitation" ("email") where organization_id is null;`,
    );
    this.addSql(
      `alter table "invitation" add constraint "invitation_organization_email" unique ("organization_id", "email");`,
    );
    this.addSql(
      `alter table "invitation" add constraint "invitation_role_check" check ("role" in ('owner', 'member', 'operator'));`,
    );
    this.addSql(
      `alter table "invitation" add constraint "invitation_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete no action;`,
    );
  }

  #links(): void {
    this.addSql(
      `create table "account_link" ("kind" text not null, "subject_id" uuid not null, "token_hash" bytea not null, "email" text not null, "expires_at" timestamptz(3) not null, "used_at" timestamptz(3) null, primary key ("kind", "subject_id"));`,
    );
    this.addSql(`alter table "account_link" add constraint "account_link_token_hash" unique ("token_hash");`);
    this.addSql(
      `alter table "account_link" add constraint "account_link_kind_check" check ("kind" in ('registration', 'invitation', 'password_reset', 'account_request_answer'));`,
    );
  }

  #audit(): void {
    this.addSql(
      `create table "audit_entry" ("id" uuid not null, "at" timestamptz(3) not null default clock_timestamp(), "action" text not null, "actor_type" text not null, "actor_id" uuid null, "actor" text not null, "by_operator" boolean not null, "organization_id" uuid null, "subject" text null, "details" jsonb null, "address" text null, "request_id" text null, primary key ("id"));`,
    );
    this.addSql(`create index "audit_entry_organization" on "audit_entry" ("organization_id", "id");`);
    this.addSql(`create index "audit_entry_action" on "audit_entry" ("action", "id");`);
    this.addSql(
      `alter table "audit_entry" add constraint "audit_entry_actor_type_check" check ("actor_type" in ('key', 'user', 'system'));`,
    );
  }
}
