/** The failure that a request of a test key asked for. */
import { Migration } from "@mikro-orm/migrations";

export class RequestLogSimulated extends Migration {
  override name = "20261124060000-request-log-simulated";

  override up(): void {
    this.addSql(`alter table request_log add column simulated text;`);
  }
}
