/** `waymark accept-secret` */
import { Command } from "commander";
import { openSecretBox } from "../../embedded/secret-key.ts";
import { acceptSecret as accept, type UnreadableSecrets } from "../../restore/api.ts";
import type { CliContext } from "../context.ts";
import { escapeControlCharacters } from "../output.ts";

export function acceptSecretCommand(cli: CliContext): Command {
  return new Command("accept-secret")
    .description(
      "accept the current WAYMARK_SECRET after losing the previous one; data encrypted with the previous one stays unreadable",
    )
    .action(() =>
      cli.withServices(
        async ({ config, database }) => {
          // Creates a new `secret` file if the file of the lost secret is missing.
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
    // --header replaces all headers, because the stored ones cannot be decrypted.
    ...headers.map((id) => `  waymark endpoint update ${id} --header "Name: value"`),
    ...userEmails.map((email) => `  waymark user reset-two-factor ${escapeControlCharacters(email)}`),
  ];
  const rest =
    commands.length === 0
      ? "No data is encrypted with another secret."
      : `Data encrypted with the previous secret is lost. Run these commands together with the owners:\n${commands.join("\n")}`;
  return `This database now accepts the current WAYMARK_SECRET.\n${rest}`;
}
