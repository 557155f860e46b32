/** The kinds of notifications, the roles that can choose them, and the hours at which they are sent. */
import { scopesOf } from "../accounts/api.ts";
import { type UserRole, userRoles } from "../organizations/api.ts";

export const notificationKinds = ["endpoint_failing", "key_expiring", "late_jobs", "weekly_digest"] as const;
export type NotificationKind = (typeof notificationKinds)[number];

/** The roles that can choose a kind. A user who loses the role gets no more of it. */
export const rolesByKind: Readonly<Record<NotificationKind, readonly UserRole[]>> = {
  endpoint_failing: ["owner", "developer"],
  key_expiring: ["owner", "developer"],
  late_jobs: ["owner", "dispatcher", "viewer"],
  weekly_digest: ["owner", "developer", "dispatcher", "viewer"],
};

/** The roles that see deliveries. */
export const DELIVERY_ROLES: readonly UserRole[] = userRoles.filter((role) =>
  scopesOf(role, "live").includes("webhooks:manage"),
);

/** Sent by e-mail to owners who have chosen nothing. */
export const OWNER_DEFAULTS: readonly NotificationKind[] = ["endpoint_failing", "key_expiring"];

/** Late jobs and the digest are sent at 8:00 in the organisation's time zone; after an outage, until noon. */
export const MORNING = { fromHour: 8, untilHour: 12 } as const;
