/** `waymark org` */
import type { SuspensionService } from "../../accounts/api.ts";
import type { Organization } from "../../organizations/api.ts";
import { toTypedId } from "../../core/ids.ts";
import { organizationTypes } from "../../core/principal.ts";
import { choice, commandGroup, option, required, serviceCommand, type Result } from "../command.ts";
import { cliAuditContext, type CliServices } from "../context.ts";
import { escapeControlCharacters, formatList, listResult } from "../output.ts";

const ORGANIZATION = ["<org>", "organisation (ID or exact name)"] as const;

function presentOrganization({ id, name, type, suspendedAt, createdAt }: Organization) {
  return { id: toTypedId("org", id), name, type, suspended_at: suspendedAt ?? null, created_at: createdAt };
}

const create = serviceCommand("create", {
  description: "create an organisation",
  options: {
    name: required(option("<name>", "unique name")),
    type: required(choice("<type>", "type of organisation", organizationTypes)),
  },
  async run({ organizations }, options) {
    const document = presentOrganization(await organizations.create(options));
    const { id, name, type } = document;
    return { document, text: formatList({ Organisation: id, Name: name, Type: type }) };
  },
});

const list = serviceCommand("list", {
  description: "list organisations by name",
  async run({ organizations }) {
    return listResult(await organizations.list(), {
      columns: {
        ID: ({ id }) => toTypedId("org", id),
        TYPE: ({ type }) => type,
        STATUS: ({ suspendedAt }) => (suspendedAt ? "suspended" : "active"),
        NAME: ({ name }) => name,
      },
      toItem: presentOrganization,
      empty: "No organisations.",
    });
  },
});

const suspend = serviceCommand("suspend", {
  description: "suspend an organisation: its keys, sessions and deliveries stop within a second",
  argument: ORGANIZATION,
  options: { reason: option("<text>", "reason, for the audit log") },
  run: (services, { reason = null }, org) =>
    changeSuspension(services, org, (suspensions, id) => suspensions.suspend(cliAuditContext, id, reason)),
});

const restore = serviceCommand("restore", {
  description: "end the suspension of an organisation",
  argument: ORGANIZATION,
  run: (services, _options, org) =>
    changeSuspension(services, org, (suspensions, id) => suspensions.restore(cliAuditContext, id)),
});

async function changeSuspension(
  { organizations, suspensions }: CliServices,
  org: string,
  apply: (suspensions: SuspensionService, id: string) => Promise<unknown>,
): Promise<Result> {
  const id = toTypedId("org", (await organizations.get(org)).id);
  await apply(suspensions, id);
  const document = presentOrganization(await organizations.get(id));
  const state = document.suspended_at === null ? "active" : "suspended";
  return { document, text: `${escapeControlCharacters(document.name)} is ${state}.` };
}

export const organizationCommands = commandGroup("org", "manage organisations: agents and contractors", [
  create,
  list,
  suspend,
  restore,
]);
