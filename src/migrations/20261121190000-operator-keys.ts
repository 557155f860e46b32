import { Migration } from "@mikro-orm/migrations";

/** A key without an organisation is an operator's. */
export class OperatorKeys extends Migration {
  override name = "20261121190000-operator-keys";

  override up(): void {
    this.addSql(`alter table "api_key" alter column "organization_id" drop not null;`);
  }
}
