/** Sets the time zone in which the days of an organisation begin and end. */
import { raw } from "@mikro-orm/postgresql";
import { lockOrganization } from "../api-keys/api.ts";
import { type AuditContext, recordAuditEvent } from "../audit/api.ts";
import { badRequest } from "../core/errors.ts";
import { toTypedId } from "../core/ids.ts";
import { hasSqlState } from "../core/postgres/errors.ts";
import { Organization } from "../organizations/api.ts";
import type { AccountContext } from "./context.ts";

const INVALID_PARAMETER_VALUE = "22023";
const UNKNOWN = { code: "invalid_value", message: "is not known to the database" } as const;

export class TimeZoneService {
  readonly #context: Pick<AccountContext, "database">;

  constructor(context: Pick<AccountContext, "database">) {
    this.#context = context;
  }

  /**
   * Sets the IANA time zone of a live organisation (a uuid) and of its test organisations. Every process uses it within a second.
   * Throws BadRequestException for a time zone that PostgreSQL does not know.
   */
  async set(context: AuditContext, organizationId: string, timeZone: string): Promise<Organization> {
    const { database } = this.#context;
    if (!(await this.#isKnown(organizationId, timeZone)))
      throw badRequest([{ location: "body", field: "timeZone", ...UNKNOWN }]);
    return await database.transactional(async (em, tx) => {
      const [live, ...tests] = await lockOrganization(tx, organizationId);
      const former = live.timeZone;
      for (const each of [live, ...tests]) each.timeZone = timeZone;
      if (former !== timeZone)
        await recordAuditEvent(em, {
          ...context,
          action: "organization.time_zone_changed",
          organizationId,
          subject: toTypedId("org", organizationId),
          details: { from: former, to: timeZone },
        });
      return live;
    });
  }
  /** PostgreSQL's list of time zones is not that of Node. */
  async #isKnown(organizationId: string, timeZone: string): Promise<boolean> {
    const now = raw("now() at time zone ?", [timeZone]);
    const query = this.#context.database.em().createQueryBuilder(Organization).select(now);
    try {
      await query.where({ id: organizationId }).execute("get");
      return true;
    } catch (error) {
      if (hasSqlState(error, INVALID_PARAMETER_VALUE)) return false;
      throw error;
    }
  }
}
