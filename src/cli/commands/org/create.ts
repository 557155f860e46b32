/** `waymark org create` */
import { Command, Option } from "commander";
import { organizationTypes, type OrganizationType } from "../../../platform/principal.ts";
import type { CliContext } from "../../context.ts";
import { presentOrganization } from "../../presenters/organization.ts";
import { formatList } from "../../output.ts";

interface Options {
  name: string;
  type: OrganizationType;
}

export function orgCreateCommand(cli: CliContext): Command {
  return new Command("create")
    .description("create an organisation")
    .requiredOption("--name <name>", "unique name")
    .addOption(
      new Option("--type <type>", "type of organisation").choices(organizationTypes).makeOptionMandatory(),
    )
    .action(({ name, type }: Options) =>
      cli.withServices(async ({ organizations }) => {
        const document = presentOrganization(await organizations.create({ name, type }));
        cli.output.printResult(document, formatList({ Organisation: document.id, Name: name, Type: type }));
      }),
    );
}
