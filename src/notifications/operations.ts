/** The operations of a user's notifications. */
import { z } from "zod";
import { invariant } from "../core/errors.ts";
import { type Access, type Operation, operation, type RequestPrincipal } from "../operations/operation.ts";
import { notificationKinds } from "./kinds.ts";
import type { NotificationService, NotificationUser } from "./settings.service.ts";

interface Services {
  readonly notifications: NotificationService;
}

/** In live mode only, because nothing is sent about test data. */
const member: Access = { role: ["owner", "developer", "dispatcher", "viewer"], mode: "live", scopes: [] };

export function notifiedUser({ actor, user }: Pick<RequestPrincipal, "actor" | "user">): NotificationUser {
  invariant(actor.id && user, "the access names roles of users");
  return { id: actor.id, role: user.role };
}

const choice = z.object({ kind: z.enum(notificationKinds), mail: z.boolean(), webhook: z.boolean() });

export const notificationOperations: readonly Operation<Services>[] = [
  operation({
    name: "setNotifications",
    access: member,
    fresh: false,
    input: z.object({ choices: z.array(choice) }),
    run: ({ notifications }, principal, { choices }) =>
      notifications.choose(notifiedUser(principal), choices),
  }),
  operation({
    name: "setNotificationWebhook",
    access: member,
    // Otherwise a stolen session could have its messages sent elsewhere.
    fresh: true,
    graphql: { subject: "url" },
    input: z.object({ url: z.string().optional() }),
    async prepare({ notifications }, principal, { url }, { external }) {
      if (url === undefined) return null;
      return await external(() => notifications.checkUrl(notifiedUser(principal).id, url));
    },
    run: ({ notifications }, principal, _input, { prepared }) =>
      notifications.setWebhook(principal, notifiedUser(principal), prepared),
  }),
  operation({
    name: "sendTestNotification",
    access: member,
    fresh: false,
    run: ({ notifications }, principal, _input, { external }) =>
      external(() => notifications.sendTest(notifiedUser(principal))),
  }),
];

/** The access of the root fields of GraphQL with hand-written resolvers. */
export const notificationAccess = { notifications: member };
