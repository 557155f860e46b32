/** When the deliveries of an endpoint were last retried on request. */
import { Migration } from "@mikro-orm/migrations";

export class EndpointRetriedAt extends Migration {
  override name = "20261129110000-endpoint-retried-at";

  override up(): void {
    this.addSql(`alter table "webhook_endpoint" add "retried_at" timestamptz(3) null;`);
  }
}
