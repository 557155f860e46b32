/** `waymark accept-secret` */
import { Command } from "commander";
import { openSecretBox } from "../../embedded/secret-key.ts";
import { acceptSecret as accept, type UnreadableSecrets } from "../../restore/api.ts";
import type { CliContext } from "../context.ts";
import { escapeControlCharacters } from "../output.ts";

export function acceptSecretCommand(cli: CliContext): Command {
  return new Command("accept-secret")
    .description(
      "go on with the present WAYMARK_SECRET where the former one is lost: what that one sealed cannot be read",
    )
    .action(() =>
      cli.withServices(
        async ({ config, database }) => {
          // The file of the former secret may be missing: then it is created anew.
          const box = await openSecretBox(config, () => Promise.resolve(false));
          const unreadable = await accept(database, box);
          cli.output.printResult(unreadable, formatUnreadableSecrets(unreadable));
        },
        { startupCheck: async () => undefined },
      ),
    );
}

function formatUnreadableSecrets({ endpoints, headers, userEmails }: UnreadableSecrets): string {
  const commands = [
    ...endpoints.map((id) => `  waymark endpoint rotate-secret ${id}`),
    // All that it is to have, since what it had cannot be read.
    ...headers.map((id) => `  waymark endpoint update ${id} --header "Name: value"`),
    ...userEmails.map((email) => `  waymark user reset-two-factor ${escapeControlCharacters(email)}`),
  ];
  const rest =
    commands.length === 0
      ? "Nothing was sealed with another one."
      : `What the former one sealed is lost. To be done, each with its owner:\n${commands.join("\n")}`;
  return `Servers on this database start with the present WAYMARK_SECRET.\n${rest}`;
}
