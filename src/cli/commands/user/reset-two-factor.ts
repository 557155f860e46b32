/** `waymark user reset-two-factor` */
import { Command } from "commander";
import { resetTwoFactor } from "../../../accounts/api.ts";
import { createPublicUrl } from "../../../platform/public-url.ts";
import { cliAuditContext, type CliContext } from "../../context.ts";

export function userResetTwoFactorCommand(cli: CliContext): Command {
  return new Command("reset-two-factor")
    .description("turn off two-factor authentication of a user who lost their device and recovery codes")
    .argument("<email>", "e-mail address of the account; verify the user's identity first")
    .action((emailArgument: string) =>
      cli.withServices(async ({ config, database, openMails }) => {
        const { pageUrl } = createPublicUrl(config.http.publicUrl, config.http);
        const deps = { database, mails: await openMails(), pageUrl };
        const { email, sessionsRevoked } = await resetTwoFactor(deps, cliAuditContext, emailArgument);
        cli.output.printResult(
          { email, sessions_ended: sessionsRevoked },
          `Two-factor authentication of ${email} is off; an e-mail tells the user. Sessions revoked: ${sessionsRevoked}.`,
        );
      }),
    );
}
