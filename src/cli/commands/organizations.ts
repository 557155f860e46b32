/** `waymark org`, `test`, `operator` and `user` */
import type { Organization } from "../../organizations/api.ts";
import { toTypedId } from "../../core/ids.ts";
import { organizationTypes } from "../../core/principal.ts";
import { commandGroup, serviceCommand } from "../command.ts";
import { cliAuditContext } from "../context.ts";
import { listResult } from "../output.ts";

const ORGANIZATION = ["<org>", "organisation (ID or exact name)"] as const;

function present({ id, name, type, suspendedAt = null, createdAt }: Organization) {
  return { id: toTypedId("org", id), name, type, suspendedAt, createdAt };
}

export const organizationCommands = commandGroup("org", "manage organisations: agents and contractors", [
  serviceCommand("create", {
    description: "create an organisation",
    options: {
      name: { value: "<name>", text: "unique name", required: true },
      type: { value: "<type>", text: "type of organisation", choices: organizationTypes, required: true },
    },
    run: async ({ organizations }, options) => ({ data: present(await organizations.create(options)) }),
  }),
  serviceCommand("list", {
    description: "list organisations by name",
    run: async ({ organizations }) =>
      listResult((await organizations.list()).map(present), ["id", "type", "suspendedAt", "name"]),
  }),
  serviceCommand("suspend", {
    description: "suspend an organisation: its keys, sessions and deliveries stop within a second",
    argument: ORGANIZATION,
    options: { reason: { value: "<text>", text: "reason, for the audit log" } },
    async run({ organizations, organizationChanges }, { reason = null }, org) {
      const { id } = present(await organizations.get(org));
      return { data: present(await organizationChanges.suspend(cliAuditContext, id, reason)) };
    },
  }),
  serviceCommand("restore", {
    description: "end the suspension of an organisation",
    argument: ORGANIZATION,
    async run({ organizations, organizationChanges }, _options, org) {
      const { id } = present(await organizations.get(org));
      return { data: present(await organizationChanges.restore(cliAuditContext, id)) };
    },
  }),
]);

export const testCommands = commandGroup("test", "manage test data of organisations", [
  serviceCommand("list", {
    description:
      "list the organisations that use test mode, with their test jobs, runs in progress and test keys",
    async run({ testUse }) {
      const items = (await testUse.list()).map(({ live: { id, name }, ...use }) => ({
        organizationId: toTypedId("org", id),
        name,
        ...use,
      }));
      return listResult(items, ["organizationId", "jobs", "runs", "activeKeys", "lastUsedAt", "name"]);
    },
  }),
  serviceCommand("reset", {
    description: "delete the test jobs, events, deliveries and logged requests of an organisation",
    argument: ["<org>", "live organisation (ID or exact name)"],
    help: "\nTest keys and webhook endpoints stay. Runs in progress are cancelled.",
    run: async ({ organizations, testUse }, _options, org) => ({
      data: await testUse.reset(cliAuditContext, await organizations.get(org)),
    }),
  }),
]);

export const operatorCommands = commandGroup("operator", "manage operators, the users who run the service", [
  serviceCommand("create", {
    description: "invite an operator and print the invitation link; it is not shown again",
    options: { email: { value: "<email>", text: "e-mail address to sign in with", required: true } },
    run: async ({ inviteOperator }, { email }) => ({
      data: await inviteOperator(cliAuditContext, email),
      note: "Open the link in a browser while the server runs. Running this command again replaces the link.",
    }),
  }),
]);

export const userCommands = commandGroup("user", "manage user accounts", [
  serviceCommand("recover", {
    description: "print a link to choose a new password, which also works although SSO_ONLY is on",
    argument: ["<email>", "e-mail address of the account; verify the user's identity first"],
    run: async ({ issueRecoveryLink }, _options, email) => ({
      data: await issueRecoveryLink(cliAuditContext, email),
      note: "The link is valid for an hour. Until then the password signs in, also with SSO_ONLY.",
    }),
  }),
  serviceCommand("reset-two-factor", {
    description: "turn off two-factor authentication of a user who lost their device and recovery codes",
    argument: ["<email>", "e-mail address of the account; verify the user's identity first"],
    run: async ({ resetTwoFactor }, _options, email) => ({
      data: await resetTwoFactor(cliAuditContext, email),
      note: "Two-factor authentication is off; an e-mail tells the user.",
    }),
  }),
]);
