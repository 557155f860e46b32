/** A real SMTP server in the test's process: what it takes, it keeps, parsed. */
import type { AddressInfo } from "node:net";
import { callbackify } from "node:util";
import PostalMime, { type Email } from "postal-mime";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";

export interface ReceivedMail extends Email {
  /** As it came, headers and all. */
  raw: string;
  /** The recipients that the server was told, whatever the headers say. */
  recipients: string[];
  /** Whether it came encrypted. */
  isSecure: boolean;
}

/** What the server says in place of `250`. */
export interface SmtpRejection {
  code: number;
  message: string;
}

export interface TestSmtpServer extends AsyncDisposable {
  readonly port: number;
  readonly received: ReceivedMail[];
  /** The next answers, to as many recipients or mails. Empty: everything is taken. */
  readonly rejections: { recipient: SmtpRejection[]; message: SmtpRejection[] };
  /** What a mail waits for before it is taken. */
  acceptAfter: Promise<void> | null;
  /** How many have waited, or wait. */
  delayedCount: number;
}

export interface TestSmtpServerOptions extends SMTPServerOptions {
  port?: number;
}

export async function startTestSmtpServer({
  port = 0,
  ...options
}: TestSmtpServerOptions = {}): Promise<TestSmtpServer> {
  const received: ReceivedMail[] = [];
  const rejections: TestSmtpServer["rejections"] = { recipient: [], message: [] };
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS", ...(options.onAuth ? [] : ["AUTH"])],
    onRcptTo: (_address, _session, callback) => callback(toSmtpError(rejections.recipient.shift())),
    onData(stream, session, callback) {
      const take = async (): Promise<void> => {
        const chunks: Buffer[] = [];
        for await (const chunk of stream) chunks.push(chunk as Buffer);
        if (smtpServer.acceptAfter) smtpServer.delayedCount += 1;
        await smtpServer.acceptAfter;
        const refusal = toSmtpError(rejections.message.shift());
        if (refusal) throw refusal;
        const raw = Buffer.concat(chunks);
        received.push({
          ...(await PostalMime.parse(raw)),
          raw: raw.toString(),
          recipients: session.envelope.rcptTo.map(({ address }) => address),
          isSecure: session.secure,
        });
      };
      callbackify(take)((error) => callback(error));
    },
    ...options,
  });
  // A client that hangs up is no failure of the test.
  server.on("error", () => undefined);
  await new Promise<void>((resolve, reject) => {
    server.server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  const smtpServer: TestSmtpServer = {
    port: (server.server.address() as AddressInfo).port,
    received,
    rejections,
    acceptAfter: null,
    delayedCount: 0,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
  return smtpServer;
}

function toSmtpError(refusal: SmtpRejection | undefined): Error | null {
  return refusal ? Object.assign(new Error(refusal.message), { responseCode: refusal.code }) : null;
}
