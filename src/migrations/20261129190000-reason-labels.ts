/** Two labels of failure reasons that were their codes in words. Operators cannot change labels. */
import { Migration } from "@mikro-orm/migrations";

export class ReasonLabels extends Migration {
  override name = "20261129190000-reason-labels";

  override up(): void {
    this.addSql(
      `update failure_reason set label = 'Wrong or incomplete address' where code = 'wrong_incomplete_address';`,
    );
    this.addSql(
      `update failure_reason set label = 'Oversize or overweight' where code = 'oversize_overweight';`,
    );
  }
}
