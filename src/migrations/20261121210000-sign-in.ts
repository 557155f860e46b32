import { Migration } from "@mikro-orm/migrations";

/** People, what they sign in with, and their sessions. The tables are the library's (better-auth), the names ours. */
export class SignIn extends Migration {
  override name = "20261121210000-sign-in";

  override up(): void {
    this.addSql(
      `create table "user_account" ("id" uuid not null, "name" text not null, "email" text not null, "email_verified" boolean not null default true, "organization_id" uuid null, "role" text not null, "two_factor_enabled" boolean not null default false, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "last_seen_at" timestamptz(3) null, primary key ("id"));`,
    );
    this.addSql(`alter table "user_account" add constraint "user_account_email_unique" unique ("email");`);
    this.addSql(`create index "user_account_organization" on "user_account" ("organization_id");`);
    this.addSql(
      `alter table "user_account" add constraint "user_account_role_check" check ("role" in ('owner', 'member', 'operator'));`,
    );
    this.addSql(
      `alter table "user_account" add constraint "user_account_operator_check" check ((role = 'operator') = (organization_id is null));`,
    );
    this.addSql(
      `alter table "user_account" add constraint "user_account_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete no action;`,
    );

    this.addSql(
      `create table "user_credential" ("id" uuid not null, "user_id" uuid not null, "account_id" text not null, "provider_id" text not null, "password" text not null, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), primary key ("id"));`,
    );
    this.addSql(
      `alter table "user_credential" add constraint "user_credential_user_id_unique" unique ("user_id");`,
    );
    this.addSql(
      `alter table "user_credential" add constraint "user_credential_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on delete cascade;`,
    );

    this.addSql(
      `create table "user_two_factor" ("id" uuid not null, "user_id" uuid not null, "secret" text not null, "recovery_codes" text not null, "verified" boolean not null default false, "failures" int not null default 0, "locked_until" timestamptz(3) null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "user_two_factor" add constraint "user_two_factor_user_id_unique" unique ("user_id");`,
    );
    this.addSql(
      `alter table "user_two_factor" add constraint "user_two_factor_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on delete cascade;`,
    );

    this.addSql(
      `create table "user_session" ("id" uuid not null, "user_id" uuid not null, "token" text not null, "address" text null, "user_agent" text null, "created_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null, "expires_at" timestamptz(3) not null, "last_seen_at" timestamptz(3) not null default now(), primary key ("id"));`,
    );
    this.addSql(`alter table "user_session" add constraint "user_session_token_unique" unique ("token");`);
    this.addSql(`create index "user_session_user" on "user_session" ("user_id");`);
    this.addSql(`create index "user_session_expires_at" on "user_session" ("expires_at");`);
    this.addSql(`create index "user_session_last_seen_at" on "user_session" ("last_seen_at");`);
    this.addSql(
      `alter table "user_session" add constraint "user_session_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on delete cascade;`,
    );

    this.addSql(
      `create table "user_verification" ("id" uuid not null, "identifier" text not null, "value" text not null, "expires_at" timestamptz(3) not null, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), primary key ("id"));`,
    );
    this.addSql(`create index "user_verification_identifier" on "user_verification" ("identifier");`);
    this.addSql(`create index "user_verification_expires_at" on "user_verification" ("expires_at");`);
  }
}
