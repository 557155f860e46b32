/** Test organisations belong to live ones. Names are unique only among live organisations. */
import { Migration } from "@mikro-orm/migrations";

export class TestOrganizations extends Migration {
  override name = "20261124050000-test-organizations";

  override up(): void {
    this.addSql(`alter table "organization" drop constraint "organization_name_unique";`);
    this.addSql(`alter table "organization" add "live_organization_id" uuid null;`);
    this.addSql(
      `alter table "organization" add constraint "organization_live_organization_id_foreign" foreign key ("live_organization_id") references "organization" ("id") on delete no action;`,
    );
    this.addSql(
      `create unique index "organization_name" on "organization" ("name") where live_organization_id is null;`,
    );
    this.addSql(
      `alter table "organization" add constraint "organization_test" unique ("live_organization_id", "type");`,
    );
  }
}
