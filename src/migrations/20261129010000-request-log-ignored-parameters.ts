/** The unknown parameters that a request named and that had no effect. */
import { Migration } from "@mikro-orm/migrations";

export class RequestLogIgnoredParameters extends Migration {
  override name = "20261129010000-request-log-ignored-parameters";

  override up(): void {
    this.addSql(`alter table request_log add column ignored_parameters text[];`);
  }
}
