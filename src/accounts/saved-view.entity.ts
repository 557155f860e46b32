/** A user's saved view of the console's jobs table, also a shared one. Deleted with the user. */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import { User } from "../organizations/api.ts";

export const SavedView = defineEntity({
  name: "SavedView",
  tableName: "saved_view",
  properties: {
    id: p.uuid().primary(),
    user: () => p.manyToOne(User).deleteRule("cascade"),
    name: p.text(),
    /** The query string of the page's URL: filters, order and columns. */
    query: p.text(),
    /** All of the user's organisation see it, or all operators. */
    isShared: p.boolean().default(false),
    createdAt: p.datetime(3).defaultRaw("now()"),
    updatedAt: p.datetime(3).defaultRaw("now()"),
  },
  uniques: [{ name: "saved_view_user_name", properties: ["user", "name"] }],
});

export type SavedView = InferEntity<typeof SavedView>;
