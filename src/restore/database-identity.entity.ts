/** Which PostgreSQL this database was last used on, and what tells whether a WAYMARK_SECRET is the right one. */
import { defineEntity, p } from "@mikro-orm/postgresql";

/** One row, written at the first start. It travels with every backup, and then names another place than where it lies. */
export const DatabaseIdentityRecord = defineEntity({
  name: "DatabaseIdentityRecord",
  tableName: "database_identity",
  properties: {
    id: p.boolean().primary(),
    /** Null: this PostgreSQL does not tell it. */
    systemIdentifier: p.text().nullable(),
    databaseOid: p.text(),
    /** 0: this PostgreSQL does not tell it. */
    timeline: p.integer(),
    /** Something known, sealed; null until a process with a secret came by. */
    secretCheck: p.text().nullable(),
  },
});
