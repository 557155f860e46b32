/** The table `database_identity`: the PostgreSQL cluster this database last ran on, and a value to check WAYMARK_SECRET. */
import { defineEntity, p } from "@mikro-orm/postgresql";

/** One row, written at the first start. After a restore or copy, it differs from the actual cluster. */
export const DatabaseIdentityRecord = defineEntity({
  name: "DatabaseIdentityRecord",
  tableName: "database_identity",
  properties: {
    id: p.boolean().primary(),
    /** Null if this PostgreSQL does not allow reading it. */
    systemIdentifier: p.text().nullable(),
    databaseOid: p.text(),
    /** 0 if this PostgreSQL does not allow reading it. */
    timeline: p.integer(),
    /** A known text encrypted with WAYMARK_SECRET; null until a process with a secret starts. */
    secretCheck: p.text().nullable(),
  },
});
