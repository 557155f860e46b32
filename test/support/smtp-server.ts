/** An SMTP server in the test's process that parses and keeps received mails. */
import type { AddressInfo } from "node:net";
import { callbackify } from "node:util";
import PostalMime, { type Email } from "postal-mime";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";

export interface ReceivedMail extends Email {
  /** The unparsed message with its headers. */
  raw: string;
  /** The envelope's recipients, which can differ from the headers. */
  recipients: string[];
  /** True if it was sent over TLS. */
  isSecure: boolean;
}

/** An error reply instead of `250`. */
export interface SmtpRejection {
  code: number;
  message: string;
}

export type TestSmtpServer = Awaited<ReturnType<typeof startTestSmtpServer>>;

export type TestSmtpServerOptions = SMTPServerOptions & { port?: number };

export async function startTestSmtpServer({ port = 0, ...options }: TestSmtpServerOptions = {}) {
  const received: ReceivedMail[] = [];
  /** Rejections for the next recipients or messages. Empty: everything is accepted. */
  const rejections: Record<"recipient" | "message", SmtpRejection[]> = { recipient: [], message: [] };
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS", ...(options.onAuth ? [] : ["AUTH"])],
    onRcptTo: (_address, _session, callback) => callback(toSmtpError(rejections.recipient.shift())),
    onData(stream, session, callback) {
      const receive = async (): Promise<void> => {
        const chunks: Buffer[] = [];
        for await (const chunk of stream) chunks.push(chunk as Buffer);
        if (smtpServer.acceptAfter) smtpServer.delayedCount += 1;
        await smtpServer.acceptAfter;
        const error = toSmtpError(rejections.message.shift());
        if (error) throw error;
        const raw = Buffer.concat(chunks);
        received.push({
          ...(await PostalMime.parse(raw)),
          raw: raw.toString(),
          recipients: session.envelope.rcptTo.map(({ address }) => address),
          isSecure: session.secure,
        });
      };
      callbackify(receive)((error) => callback(error));
    },
    ...options,
  });
  // Clients may disconnect at any time.
  server.on("error", () => undefined);
  await new Promise<void>((resolve, reject) => {
    server.server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  const smtpServer = {
    port: (server.server.address() as AddressInfo).port,
    received,
    rejections,
    /** Messages are accepted after this promise resolves. */
    acceptAfter: null as Promise<void> | null,
    /** Messages that have waited for `acceptAfter` so far. */
    delayedCount: 0,
    [Symbol.asyncDispose]: (): Promise<void> => new Promise((resolve) => server.close(() => resolve())),
  };
  return smtpServer;
}

function toSmtpError(rejection: SmtpRejection | undefined): Error | null {
  return rejection ? Object.assign(new Error(rejection.message), { responseCode: rejection.code }) : null;
}
