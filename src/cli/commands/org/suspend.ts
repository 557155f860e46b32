/** `waymark org suspend` and `waymark org restore` */
import { Command } from "commander";
import type { SuspensionService } from "../../../accounts/api.ts";
import { toTypedId } from "../../../platform/ids.ts";
import { cliAuditContext, type CliContext } from "../../context.ts";
import { presentOrganization } from "../../presenters/organization.ts";
import { escapeControlCharacters } from "../../output.ts";

const ORGANIZATION_ARGUMENT_HELP = "organisation (ID or exact name)";

export function orgSuspendCommand(cli: CliContext): Command {
  return new Command("suspend")
    .description("suspend an organisation: its keys, sessions and deliveries stop within a second")
    .argument("<org>", ORGANIZATION_ARGUMENT_HELP)
    .option("--reason <text>", "reason, for the audit log")
    .action((org: string, { reason = null }: { reason?: string | null }) =>
      changeSuspension(cli, org, (suspensions, id) => suspensions.suspend(cliAuditContext, id, reason)),
    );
}

export function orgRestoreCommand(cli: CliContext): Command {
  return new Command("restore")
    .description("end the suspension of an organisation")
    .argument("<org>", ORGANIZATION_ARGUMENT_HELP)
    .action((org: string) =>
      changeSuspension(cli, org, (suspensions, id) => suspensions.restore(cliAuditContext, id)),
    );
}

function changeSuspension(
  cli: CliContext,
  org: string,
  apply: (suspensions: SuspensionService, id: string) => Promise<unknown>,
): Promise<void> {
  return cli.withServices(async ({ organizations, suspensions }) => {
    const { id, name } = await organizations.get(org);
    await apply(suspensions, toTypedId("org", id));
    const document = presentOrganization(await organizations.get(toTypedId("org", id)));
    const state = document.suspended_at === null ? "active" : "suspended";
    cli.output.printResult(document, `${escapeControlCharacters(name)} is ${state}.`);
  });
}
