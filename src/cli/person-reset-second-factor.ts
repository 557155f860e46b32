/** `waymark person reset-second-factor` */
import { Command } from "commander";
import { NO_ORIGIN } from "../accounts/audit.service.ts";
import { resetSecondFactor } from "../accounts/two-factor.reset.ts";
import { createPageAddress } from "../platform/page-address.ts";
import { systemActor } from "../platform/principal.ts";
import type { Cli } from "./cli.ts";

export function personResetSecondFactor(cli: Cli): Command {
  return new Command("reset-second-factor")
    .description("turn a person's second factor off, when they have lost it and their recovery codes")
    .argument("<email>", "the address that they sign in with: be sure that it is they who ask")
    .action((given: string) =>
      cli.withServices(async ({ config, database, openMails }) => {
        const { pageUrl } = createPageAddress(config.http.publicUrl, config.http);
        const parts = { database, mails: await openMails(), pageUrl };
        const context = { actor: systemActor, ...NO_ORIGIN };
        const { email, sessionsEnded } = await resetSecondFactor(parts, context, given);
        cli.output.result(
          { email, sessions_ended: sessionsEnded },
          `${email} signs in with the password alone now, and was written so. Sessions ended: ${sessionsEnded}.`,
        );
      }),
    );
}
