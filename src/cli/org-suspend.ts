/** `waymark org suspend` and `waymark org restore` */
import { Command } from "commander";
import { NO_ORIGIN } from "../accounts/audit.service.ts";
import type { SuspensionService } from "../accounts/suspension.service.ts";
import { toTypedId } from "../platform/ids.ts";
import { systemActor } from "../platform/principal.ts";
import type { Cli } from "./cli.ts";
import { orgDocument } from "./org-document.ts";
import { printable } from "./output.ts";

/** Whoever may use the command line runs the service. */
const OPERATOR = { actor: systemActor, ...NO_ORIGIN };
const ORGANISATION = "the organisation's id or exact name";

export function orgSuspend(cli: Cli): Command {
  return new Command("suspend")
    .description("shut an organisation out: its keys, sessions and deliveries stop within a second")
    .argument("<org>", ORGANISATION)
    .option("--reason <text>", "why, for the audit log")
    .action((org: string, { reason = null }: { reason?: string | null }) =>
      change(cli, org, (suspensions, id) => suspensions.suspend(OPERATOR, id, reason)),
    );
}

export function orgRestore(cli: Cli): Command {
  return new Command("restore")
    .description("let a suspended organisation in again")
    .argument("<org>", ORGANISATION)
    .action((org: string) => change(cli, org, (suspensions, id) => suspensions.restore(OPERATOR, id)));
}

function change(
  cli: Cli,
  org: string,
  work: (suspensions: SuspensionService, id: string) => Promise<unknown>,
): Promise<void> {
  return cli.withServices(async ({ organizations, suspensions }) => {
    const { id, name } = await organizations.get(org);
    await work(suspensions, toTypedId("org", id));
    const document = orgDocument(await organizations.get(toTypedId("org", id)));
    const state = document.suspended_at === null ? "active" : "suspended";
    cli.output.result(document, `${printable(name)} is ${state}.`);
  });
}
