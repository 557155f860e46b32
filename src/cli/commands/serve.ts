/** `waymark serve`: the same as `npm start`. */
import { toConfig } from "../../config/config.ts";
import { readEnv } from "../../config/env.ts";
import { AppError } from "../../core/errors.ts";
import { choice, command } from "../command.ts";

const roles = ["all", "api", "worker"] as const;

export const serveCommand = command("serve", {
  description: "run the server until it receives a signal",
  options: {
    role: choice("<role>", "role of this process (default: WAYMARK_ROLE)", roles),
  },
  async run({ output, host }, { role }) {
    if (output.isJson) throw new AppError("BadRequestException", "serve has no result to print with --json");
    const { runServer } = await import("../../app/serve.ts");
    const env = readEnv(host.env);
    await runServer(toConfig({ ...env, WAYMARK_ROLE: role ?? env.WAYMARK_ROLE }));
    // As in main.ts: Agenda's timers would keep the process alive.
    process.exit();
  },
});
