import { Migration } from "@mikro-orm/migrations";

/** Deliveries that are sent again with a mark, since before a restore they may have been sent; and where the database lies. */
export class Restores extends Migration {
  override name = "20261122100020-restores";

  override up(): void {
    this.addSql(`alter table webhook_delivery add column after_restore boolean not null default false;`);
    this.addSql(
      `create table "database_mark" ("id" boolean not null, "system_identifier" text null, "database_oid" text not null, "timeline" int not null, "secret_check" text null, primary key ("id"));`,
    );
  }
}
