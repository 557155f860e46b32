/** The operations of members, account requests, organisations and saved views. */
import { z } from "zod";
import { toApiKeyView } from "../api-keys/api.ts";
import { invariant } from "../core/errors.ts";
import { toTypedId } from "../core/ids.ts";
import { isTimeZone } from "../core/time.ts";
import {
  type Access,
  type AccessSubject,
  administrator,
  anyone,
  type Operation,
  operation,
  owner,
} from "../operations/operation.ts";
import { none } from "../operations/schemas.ts";
import { userRoles } from "../organizations/api.ts";
import { accountEmail, freeText, organizationNameField, savedViewNameField } from "./fields.ts";
import type { MembershipServices } from "./services.ts";
import { canGiveAccess } from "./sessions/session-principal.ts";
import { savedViewQuery, type SavedViewService } from "./saved-view.service.ts";
import { ssoOperations } from "./sso/operations.ts";

type Services = Pick<
  MembershipServices,
  "invitations" | "members" | "organizationChanges" | "reviews" | "sso"
> & { readonly views: SavedViewService };

const byId = z.object({ id: z.string() });
/** `member`, until the SDL loses it, is the former name of a dispatcher. */
const role = z.enum([...userRoles, "member"]).transform((name) => (name === "member" ? "dispatcher" : name));

/** Of a member's organisation, by its owners, or of the operators. */
const ofOwner = { access: owner, fresh: false, params: byId } as const;
const ofOperator = { access: administrator, fresh: false, params: byId } as const;
const ofSignedInOperator = { access: { role: ["operator"], scopes: [] }, params: byId } as const;
/** Operators have no organisation, and their days are in UTC. */
const ofOrganization = { access: { ...owner, role: ["owner"] }, fresh: false } as const;
/** Saved views are a tool of those who work on jobs. */
const dispatcher: Access = { role: ["owner", "dispatcher", "operator"], scopes: [] };
const ofDispatcher = { access: dispatcher, fresh: false } as const;

export const memberOperations: readonly Operation<Services>[] = [
  operation({
    ...ofOwner,
    name: "inviteMember",
    graphql: { subject: "email" },
    // Otherwise a stolen session could gain more access than it has.
    fresh: (input) => canGiveAccess(input.role ?? "dispatcher"),
    params: none,
    input: z.object({ email: accountEmail, role: role.default("dispatcher") }),
    run: ({ invitations }, principal, invited) => invitations.invite(principal, invited),
  }),
  operation({
    ...ofOwner,
    name: "resendInvitation",
    run: ({ invitations }, principal, { id }) => invitations.resend(principal, id),
  }),
  operation({
    ...ofOwner,
    name: "revokeInvitation",
    async run({ invitations }, principal, { id }) {
      await invitations.revoke(principal, id);
      return id;
    },
  }),
  operation({
    ...ofOwner,
    name: "removeMember",
    fresh: true,
    input: z.object({ revokeKeys: z.boolean(), revokeInvitations: z.boolean() }),
    async run({ members }, principal, { id, ...options }) {
      const { keys, invitationIds } = await members.remove(principal, id, options);
      return {
        id,
        revokedKeys: keys.map(toApiKeyView),
        revokedInvitations: invitationIds.map((uuid) => toTypedId("inv", uuid)),
      };
    },
  }),
  operation({
    ...ofOwner,
    name: "setMemberRole",
    fresh: true,
    input: z.object({ role }),
    run: ({ members }, principal, { id, role: given }) => members.setRole(principal, id, given),
  }),
  operation({
    ...ofOrganization,
    name: "setTimeZone",
    input: z.object({
      timeZone: z
        .string()
        .refine(isTimeZone, { error: "must be an IANA time zone, such as Europe/London, or UTC" }),
    }),
    run({ organizationChanges }, principal, { timeZone }) {
      invariant(principal.organizationId, "owners have an organisation");
      return organizationChanges.setTimeZone(principal, toTypedId("org", principal.organizationId), timeZone);
    },
  }),
  operation({
    ...ofOperator,
    name: "approveAccountRequest",
    input: z.object({ organizationName: organizationNameField.optional() }),
    run: ({ reviews }, operator, { id, organizationName }) => reviews.approve(operator, id, organizationName),
  }),
  operation({
    ...ofOperator,
    name: "rejectAccountRequest",
    input: z.object({ reason: freeText }),
    run: ({ reviews }, operator, { id, reason }) => reviews.reject(operator, id, reason),
  }),
  operation({
    ...ofOperator,
    name: "askAccountRequestQuestion",
    input: z.object({ question: freeText }),
    run: ({ reviews }, operator, { id, question }) => reviews.askQuestion(operator, id, question),
  }),
  operation({
    ...ofOperator,
    name: "addAccountRequestNote",
    input: z.object({ text: freeText }),
    run: ({ reviews }, operator, { id, text }) => reviews.addNote(operator, id, text),
  }),
  operation({
    ...ofOperator,
    name: "resendRegistration",
    run: ({ reviews }, operator, { id }) => reviews.resendRegistration(operator, id),
  }),
  operation({
    ...ofOperator,
    name: "suspendOrganization",
    input: z.object({ reason: freeText.optional() }),
    run: ({ organizationChanges }, operator, { id, reason = null }) =>
      organizationChanges.suspend(operator, id, reason),
  }),
  operation({
    ...ofOperator,
    name: "restoreOrganization",
    run: ({ organizationChanges }, operator, { id }) => organizationChanges.restore(operator, id),
  }),
  operation({
    ...ofOperator,
    name: "renameOrganization",
    graphql: { subject: "name" },
    input: z.object({ name: organizationNameField }),
    run: ({ organizationChanges }, operator, { id, name }) => organizationChanges.rename(operator, id, name),
  }),
  operation({
    ...ofOperator,
    name: "allowJobImport",
    input: z.object({ allowed: z.boolean() }),
    run: ({ organizationChanges }, operator, { id, allowed }) =>
      organizationChanges.allowJobImport(operator, id, allowed),
  }),
  operation({
    ...ofSignedInOperator,
    name: "viewAsOrganization",
    fresh: false,
    run: ({ organizationChanges }, operator, { id }) => organizationChanges.view(operator, id),
  }),
  operation({
    ...ofSignedInOperator,
    name: "resetMemberTwoFactor",
    // An operator must have checked who asks for it.
    fresh: true,
    run: ({ members }, operator, { id }) => members.resetTwoFactor(operator, id),
  }),
  operation({
    ...ofDispatcher,
    name: "saveView",
    graphql: { subject: "name" },
    input: z.object({ name: savedViewNameField, query: savedViewQuery }),
    run: ({ views }, user, view) => views.save(user, view),
  }),
  operation({
    ...ofDispatcher,
    name: "shareView",
    params: byId,
    input: z.object({ isShared: z.boolean() }),
    run: ({ views }, user, { id, isShared }) => views.share(user, id, isShared),
  }),
  operation({
    ...ofDispatcher,
    name: "deleteView",
    params: byId,
    async run({ views }, user, { id }) {
      await views.delete(user, id);
      return id;
    },
  }),
  ...ssoOperations,
];

/** The access of the root fields of GraphQL with hand-written resolvers. */
export const memberAccess = {
  /** All users of an organisation see each other. */
  members: ({ user }: AccessSubject): Access => (user ? anyone : { scopes: ["webhooks:manage"] }),
  invitations: owner,
  singleSignOn: owner,
  accountRequests: administrator,
  organizations: { role: "operator", scopes: ["jobs:read"] } satisfies Access,
  organizationOverview: administrator,
  organizationsNeedingAttention: administrator,
  savedViews: dispatcher,
  /** Operators may use a key. */
  auditLog: ({ organizationId }: AccessSubject) => (organizationId === null ? administrator : owner),
};
