/** `waymark org create` */
import { Command, Option } from "commander";
import { organizationTypes, type OrganizationType } from "../platform/principal.ts";
import type { Cli } from "./cli.ts";
import { orgDocument } from "./org-document.ts";
import { listOf } from "./output.ts";

interface Options {
  name: string;
  type: OrganizationType;
}

export function orgCreate(cli: Cli): Command {
  return new Command("create")
    .description("make an organisation")
    .requiredOption("--name <name>", "its name, which no other organisation has")
    .addOption(new Option("--type <type>", "what it is").choices(organizationTypes).makeOptionMandatory())
    .action(({ name, type }: Options) =>
      cli.withServices(async ({ organizations }) => {
        const document = orgDocument(await organizations.create({ name, type }));
        cli.output.result(document, listOf({ Organisation: document.id, Name: name, Type: type }));
      }),
    );
}
