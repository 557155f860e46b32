import { Migration } from "@mikro-orm/migrations";

/**
 * Deliveries and their attempts, in partitions: what waits to be sent lies by itself, so that the queue stays as small as
 * its backlog however long the log is; the log lies by weeks, so that it is dropped and never deleted row by row. The
 * weeks are made by `webhooks/partitions.ts`.
 */
export class WebhookDeliveries extends Migration {
  override name = "20261121160100-webhook-deliveries";

  override up(): void {
    this.addSql(`
      create table webhook_delivery (
        id uuid not null,
        -- no foreign key: it would lock the row of the endpoint for each event
        endpoint_id uuid not null,
        event_id uuid not null,
        event_type text not null,
        -- null: a test event, which speaks of no job
        job_id uuid,
        origin text not null default 'event' check (origin in ('event', 'replay', 'test')),
        status text not null default 'pending' check (status in ('pending', 'delivered', 'dead', 'discarded')),
        -- counted when one begins
        attempts int not null default 0,
        -- pending: when it is to be sent; while it is being sent: when the lease runs out
        due_at timestamptz(3) not null default clock_timestamp(),
        lease_token uuid,
        -- how the last attempt ended
        outcome text,
        finished_at timestamptz(3),
        primary key (id, status)
      ) partition by list (status);`);
    this.addSql(`
      create table webhook_delivery_pending partition of webhook_delivery for values in ('pending')
      with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000);`);
    // Two lanes: never sent, and to be sent again (or being sent).
    this.addSql(
      `create index webhook_delivery_first on webhook_delivery_pending (endpoint_id, id) where attempts = 0;`,
    );
    this.addSql(
      `create index webhook_delivery_again on webhook_delivery_pending (endpoint_id, due_at) where attempts > 0;`,
    );
    this.addSql(`
      create table webhook_delivery_finished partition of webhook_delivery
      for values in ('delivered', 'dead', 'discarded') partition by range (id);`);
    this.addSql(`create index webhook_delivery_log on webhook_delivery_finished (endpoint_id, id);`);

    this.addSql(`
      create table webhook_attempt (
        id uuid not null,
        delivery_id uuid not null,
        number int not null,
        started_at timestamptz(3) not null,
        duration_ms int not null,
        outcome text not null,
        http_status int,
        error text,
        request_headers json not null,
        response_headers json,
        -- its first 4 KiB
        response_body text,
        primary key (delivery_id, id)
      ) partition by range (delivery_id);`);
  }
}
