/** The kinds of notifications, and the roles that can choose them. */
import type { UserRole } from "../organizations/api.ts";

export const notificationKinds = ["endpoint_failing", "key_expiring", "late_jobs", "weekly_digest"] as const;
export type NotificationKind = (typeof notificationKinds)[number];

/** The roles that can choose a kind. A user who loses the role gets no more of it. */
export const rolesByKind: Readonly<Record<NotificationKind, readonly UserRole[]>> = {
  endpoint_failing: ["owner", "developer"],
  key_expiring: ["owner", "developer"],
  late_jobs: ["owner", "dispatcher", "viewer"],
  weekly_digest: ["owner", "developer", "dispatcher", "viewer"],
};

/** Roles with the scope `webhooks:manage`, which sees deliveries. */
export const DELIVERY_ROLES: readonly UserRole[] = ["owner", "developer"];

/** Sent by e-mail to owners who have chosen nothing. */
export const OWNER_DEFAULTS: readonly NotificationKind[] = ["endpoint_failing", "key_expiring"];

export function kindsOf(role: UserRole): NotificationKind[] {
  return notificationKinds.filter((kind) => rolesByKind[kind].includes(role));
}
