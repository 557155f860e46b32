/** `waymark key revoke` */
import { Command } from "commander";
import { commandLine, type Cli } from "./cli.ts";
import { getKey, KEY_ARGUMENT, keyDocument } from "./key-document.ts";

export function keyRevoke(cli: Cli): Command {
  return new Command("revoke")
    .description("end a key: every process refuses it within a second")
    .argument("<key>", KEY_ARGUMENT)
    .option("--with-created", "also end the keys that it created, and those that these created")
    .action((text: string, { withCreated = false }: { withCreated?: boolean }) =>
      cli.withServices(async ({ keys }) => {
        const { id } = await getKey(keys, text);
        const { key, created } = await keys.revoke(id, commandLine, { withCreated });
        const revoked = [key, ...created].map(keyDocument);
        cli.output.result(
          { ...keyDocument(key), also_revoked: created.map(keyDocument) },
          revoked.map((one) => `${one.starts_with} is revoked.`).join("\n"),
        );
      }),
    );
}
