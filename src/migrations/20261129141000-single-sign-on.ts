/** Single sign-on: connections of organisations, identities beside passwords, and how a session was opened. */
import { Migration } from "@mikro-orm/migrations";

export class SingleSignOn extends Migration {
  override name = "20261129141000-single-sign-on";

  override up(): void {
    this.addSql(
      `create table "sso_connection" ("organization_id" uuid not null, "issuer" text not null, "client_id" text not null, "client_secret" text not null, "domain" text not null, "verification_token" text not null, "verified_at" timestamptz(3) null, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), primary key ("organization_id"));`,
    );
    this.addSql(
      `create unique index "sso_connection_domain" on "sso_connection" ("domain") where verified_at is not null;`,
    );
    this.addSql(`alter table "user_account" add "password_allowed_until" timestamptz(3) null;`);
    this.addSql(`alter table "user_credential" drop constraint "user_credential_user_id_unique";`);
    this.addSql(`alter table "user_credential" alter column "password" drop not null;`);
    this.addSql(`create index "user_credential_user" on "user_credential" ("user_id");`);
    this.addSql(
      `alter table "user_credential" add constraint "user_credential_account" unique ("provider_id", "account_id");`,
    );
    this.addSql(`alter table "user_session" add "provider" text null;`);
    this.addSql(
      `alter table "sso_connection" add constraint "sso_connection_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on update cascade on delete cascade;`,
    );
  }
}
