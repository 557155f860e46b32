/** A view of the console's table of jobs that a person has kept: gone when they are. */
import { defineEntity, p } from "@mikro-orm/postgresql";
import { User } from "../organizations/api.ts";

export const SavedView = defineEntity({
  name: "SavedView",
  tableName: "saved_view",
  properties: {
    id: p.uuid().primary(),
    user: () => p.manyToOne(User).deleteRule("cascade"),
    name: p.text(),
    /** The query of the table's address: filters, order and columns. */
    query: p.text(),
    createdAt: p.datetime(3).defaultRaw("now()"),
    updatedAt: p.datetime(3).defaultRaw("now()"),
  },
  uniques: [{ name: "saved_view_user_name", properties: ["user", "name"] }],
});
