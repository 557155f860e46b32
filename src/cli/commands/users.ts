/** `waymark operator` and `waymark user` */
import { commandGroup, option, required, serviceCommand } from "../command.ts";
import { cliAuditContext } from "../context.ts";
import { formatList } from "../output.ts";

const create = serviceCommand("create", {
  description: "invite an operator and print the invitation link; it is not shown again",
  options: { email: required(option("<email>", "e-mail address to sign in with")) },
  async run({ inviteOperator }, { email: address }) {
    const { email, url, expiresAt } = await inviteOperator(address);
    const expires = expiresAt.toISOString();
    return {
      document: { email, url, expires_at: expires },
      text:
        `${formatList({ Operator: email, Link: url, "Valid until": expires })}\n` +
        "Open the link in a browser while the server runs. Running this command again replaces the link.",
    };
  },
});

const resetTwoFactor = serviceCommand("reset-two-factor", {
  description: "turn off two-factor authentication of a user who lost their device and recovery codes",
  argument: ["<email>", "e-mail address of the account; verify the user's identity first"],
  async run(services, _options, address) {
    const { email, sessionsRevoked } = await services.resetTwoFactor(cliAuditContext, address);
    return {
      document: { email, sessions_ended: sessionsRevoked },
      text: `Two-factor authentication of ${email} is off; an e-mail tells the user. Sessions revoked: ${sessionsRevoked}.`,
    };
  },
});

export const operatorCommands = commandGroup("operator", "manage operators, the users who run the service", [
  create,
]);
export const userCommands = commandGroup("user", "manage user accounts", [resetTwoFactor]);
