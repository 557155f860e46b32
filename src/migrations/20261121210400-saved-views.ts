import { Migration } from "@mikro-orm/migrations";

/** Views of the console's table of jobs that people keep. */
export class SavedViews extends Migration {
  override name = "20261121210400-saved-views";

  override up(): void {
    this.addSql(
      `create table "saved_view" ("id" uuid not null, "user_id" uuid not null, "name" text not null, "query" text not null, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), primary key ("id"));`,
    );
    this.addSql(`alter table "saved_view" add constraint "saved_view_user_name" unique ("user_id", "name");`);
    this.addSql(
      `alter table "saved_view" add constraint "saved_view_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on delete cascade;`,
    );
  }
}
