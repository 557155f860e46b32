/** Drops the uses of deprecated parts. No release had these tables, so no running process needs them. */
import { Migration } from "@mikro-orm/migrations";

export class DropDeprecationUse extends Migration {
  override name = "20261124070000-drop-deprecation-use";

  override up(): void {
    this.addSql(`drop table "deprecation_notice";`);
    this.addSql(`drop table "deprecation_use";`);
  }
}
