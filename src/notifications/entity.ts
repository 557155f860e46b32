/** The choices of users, and the notifications that were sent to them. Both are deleted with the user. */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import { User } from "../organizations/api.ts";
import { type NotificationKind, notificationKinds } from "./kinds.ts";

export const NotificationSettings = defineEntity({
  name: "NotificationSettings",
  tableName: "notification_settings",
  properties: {
    user: () => p.manyToOne(User).primary().deleteRule("cascade"),
    /** The kinds by e-mail; null: the defaults of the role. */
    mail: p.array().$type<NotificationKind[]>().nullable(),
    /** The kinds by webhook. */
    webhook: p.array().$type<NotificationKind[]>().defaultRaw("'{}'"),
    /** Sealed by the SecretBox for `webhookContext`: who has the URL can post to the channel. */
    webhookUrl: p.text().nullable(),
    /** Why the last message failed; null if it did not. */
    webhookFailure: p.text().nullable(),
    webhookFailedAt: p.datetime(3).nullable(),
  },
});

export type NotificationSettings = InferEntity<typeof NotificationSettings>;

/** The unique key makes each notification happen once per user, also with several processes. */
export const Notification = defineEntity({
  name: "Notification",
  tableName: "notification",
  properties: {
    id: p.uuid().primary(),
    user: () => p.manyToOne(User).deleteRule("cascade"),
    kind: p.enum(notificationKinds),
    /** The event or day. */
    key: p.text(),
    /** The text for the webhook until it is sent; null: nothing to send. */
    message: p.text().nullable(),
    attempts: p.integer().default(0),
    /** The time of the next attempt; during an attempt, the end of the lease. */
    dueAt: p.datetime(3).nullable(),
    createdAt: p.datetime(3).defaultRaw("now()"),
  },
  uniques: [{ name: "notification_once", properties: ["user", "kind", "key"] }],
  indexes: [
    { name: "notification_due", properties: ["dueAt"], where: "due_at is not null" },
    { name: "notification_created", properties: ["createdAt"] },
  ],
});

export const webhookContext = (userId: string): string => `notification webhook ${userId}`;
