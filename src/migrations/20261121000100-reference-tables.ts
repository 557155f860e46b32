import { Migration } from "@mikro-orm/migrations";

/** code, label, category, terminal */
const STATUSES = `
pending|Pending|open|false
at_warehouse|At warehouse|open|false
scheduled|Scheduled|open|false
assigned|Assigned|open|false
picked_up|Picked up|in_progress|false
in_transit|In transit|in_progress|false
out_for_delivery|Out for delivery|in_progress|false
arrived|Arrived|in_progress|false
ready_for_collection|Ready for collection|in_progress|false
completed|Completed|success|true
partially_completed|Partially completed|success|true
failed|Delivery failed|attention|false
on_hold|On hold|attention|false
returning|Returning|return|false
returned|Returned|return|true
cancelled|Cancelled|cancelled|true`;

/** code, applies to failed (F) and on hold (H), next step; the label is the code in words */
const FAILURE_REASONS = `
recipient_unavailable|F|retry
recipient_unreachable|FH|retry
recipient_refused|F|return
recipient_moved|F|action
business_closed|FH|retry
reschedule_requested|FH|retry
verification_failed|F|retry
wrong_incomplete_address|FH|action
address_not_found|F|action
access_restricted|F|retry
no_safe_place|F|retry
outside_service_area|FH|return
payment_not_received|FH|retry
parcel_damaged|FH|return
parcel_lost|FH|return
parcel_missing|FH|action
wrong_parcel|FH|action
oversize_overweight|FH|action
vehicle_breakdown|FH|retry
driver_unavailable|FH|retry
accident|FH|retry
insufficient_time|F|retry
capacity_exceeded|F|retry
misrouted|F|retry
missing_proof|F|action
shipper_cancelled|FH|return
shipper_data_incorrect|FH|action
awaiting_instructions|FH|action
severe_weather|FH|retry
road_closure|FH|retry
force_majeure|FH|retry
public_holiday|FH|retry
customs_hold|H|action
security_hold|H|action
max_attempts_exceeded|F|return
other|FH|action
unknown|FH|action`;

const rowsOf = (table: string): string[][] =>
  table
    .trim()
    .split("\n")
    .map((line) => line.split("|"));

const inWords = (code: string): string => (code.charAt(0).toUpperCase() + code.slice(1)).replaceAll("_", " ");

/** The reference tables as the product starts with them, and the one row that counts changes of access. */
export class ReferenceTables extends Migration {
  override name = "20261121000100-reference-tables";

  override up(): void {
    for (const [position, [code, label, category, terminal]] of rowsOf(STATUSES).entries()) {
      this.addSql(`insert into job_status (code, label, category, is_terminal, position)
        values ('${code}', '${label}', '${category}', ${terminal}, ${position});`);
    }
    for (const [position, [code = "", applies = "", next]] of rowsOf(FAILURE_REASONS).entries()) {
      this.addSql(`insert into failure_reason (code, label, applies_to_failed, applies_to_on_hold, next_step, position)
        values ('${code}', '${inWords(code)}', ${applies.includes("F")}, ${applies.includes("H")}, '${next}', ${position});`);
    }
    this.addSql(`insert into access_revision (id, revision) values (true, 0);`);
  }
}
