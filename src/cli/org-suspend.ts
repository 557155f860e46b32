/** `waymark org suspend` and `waymark org restore` */
import { Command } from "commander";
import { toTypedId } from "../platform/ids.ts";
import type { Cli } from "./cli.ts";
import { orgDocument } from "./org-document.ts";
import { printable } from "./output.ts";

const ORGANISATION = "the organisation's id or exact name";

export function orgSuspend(cli: Cli): Command {
  return new Command("suspend")
    .description("shut an organisation out: its keys answer 403 within a second")
    .argument("<org>", ORGANISATION)
    .action((org: string) => setSuspended(cli, org, true));
}

export function orgRestore(cli: Cli): Command {
  return new Command("restore")
    .description("let a suspended organisation in again")
    .argument("<org>", ORGANISATION)
    .action((org: string) => setSuspended(cli, org, false));
}

function setSuspended(cli: Cli, org: string, suspended: boolean): Promise<void> {
  return cli.withServices(async ({ organizations, keys }) => {
    const { id, name } = await organizations.get(org);
    await keys.setSuspended(id, suspended);
    const document = orgDocument(await organizations.get(toTypedId("org", id)));
    cli.output.result(document, `${printable(name)} is ${suspended ? "suspended" : "active"}.`);
  });
}
