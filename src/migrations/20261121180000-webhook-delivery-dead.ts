import { Migration } from "@mikro-orm/migrations";

/** What is dead is listed and replayed by itself, and lies far apart among what was delivered. */
export class WebhookDeliveryDead extends Migration {
  override name = "20261121180000-webhook-delivery-dead";

  override up(): void {
    this.addSql(
      `create index webhook_delivery_dead on webhook_delivery_finished (endpoint_id, id) where status = 'dead';`,
    );
  }
}
