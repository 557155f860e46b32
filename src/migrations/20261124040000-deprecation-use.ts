/** Which API keys use what is deprecated, and which notices of a removal were mailed. */
import { Migration } from "@mikro-orm/migrations";

export class DeprecationUseMigration extends Migration {
  override name = "20261124040000-deprecation-use";

  override up(): void {
    this.addSql(
      `create table "deprecation_notice" ("organization_id" uuid not null, "deprecation" text not null, "sunset" date not null, "days_before" int null, primary key ("organization_id", "deprecation", "sunset"));`,
    );
    this.addSql(
      `create table "deprecation_use" ("api_key_id" uuid not null, "deprecation" text not null, "organization_id" uuid not null, "first_used_at" timestamptz(3) not null, "last_used_at" timestamptz(3) not null, "requests" int not null, primary key ("api_key_id", "deprecation"));`,
    );
    this.addSql(`create index "deprecation_use_organization" on "deprecation_use" ("organization_id");`);

    this.addSql(
      `alter table "deprecation_notice" add constraint "deprecation_notice_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "deprecation_use" add constraint "deprecation_use_api_key_id_foreign" foreign key ("api_key_id") references "api_key" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "deprecation_use" add constraint "deprecation_use_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
  }
}
