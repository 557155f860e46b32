/** `waymark user reset-two-factor` */
import { Command } from "commander";
import { NO_SOURCE } from "../../../audit/api.ts";
import { resetTwoFactor } from "../../../accounts/api.ts";
import { createPublicUrl } from "../../../platform/public-url.ts";
import { systemActor } from "../../../platform/principal.ts";
import type { CliContext } from "../../context.ts";

export function userResetTwoFactorCommand(cli: CliContext): Command {
  return new Command("reset-two-factor")
    .description("turn a person's second factor off, when they have lost it and their recovery codes")
    .argument("<email>", "the address that they sign in with: be sure that it is they who ask")
    .action((emailArgument: string) =>
      cli.withServices(async ({ config, database, openMails }) => {
        const { pageUrl } = createPublicUrl(config.http.publicUrl, config.http);
        const deps = { database, mails: await openMails(), pageUrl };
        const auditContext = { actor: systemActor, ...NO_SOURCE };
        const { email, sessionsRevoked } = await resetTwoFactor(deps, auditContext, emailArgument);
        cli.output.printResult(
          { email, sessions_ended: sessionsRevoked },
          `${email} signs in with the password alone now, and was written so. Sessions ended: ${sessionsRevoked}.`,
        );
      }),
    );
}
