/** What `listen` prints comes from jobs, and a terminal runs some characters as commands. */
import { expect, it } from "vitest";
import { forward } from "../../../clients/typescript/src/listen/forward.ts";
import { newSecret } from "../../../src/webhooks/signing/secrets.ts";
import { startTestReceiver } from "../../support/webhooks/receiver.ts";

it("prints control characters of a Marking Number by their code points", async () => {
  await using receiver = await startTestReceiver();
  const lines: string[] = [];
  const event = {
    id: "evt_01",
    type: "job.updated",
    data: { job: { marking_number: "EVIL\u001b]0;pwned\u0007\u001b[2J\r\n\u202eX" } },
  };
  await forward(event as unknown as Parameters<typeof forward>[0], {
    url: receiver.url,
    secret: newSecret(),
    signal: new AbortController().signal,
    print: (line) => lines.push(line),
  });
  expect(lines.join("")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(lines[0]).toContain("EVIL\\u{1b}]0;pwned\\u{7}\\u{1b}[2J\\u{d}\\u{a}\\u{202e}X");
});
