/** Sends a mail to one recipient by SMTP, or renders it for a file. */
import { createTransport, type SendMailOptions } from "nodemailer";
import type { SmtpServer } from "./smtp-url.ts";

export interface OutgoingMail {
  /** The same at each attempt, so that the recipient's server can detect a duplicate. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly createdAt: Date;
}

export interface MailAddress {
  readonly name: string;
  readonly address: string;
}

/** `isPermanent`: the server would reject the same mail again. `reason` contains no secrets. */
export type MailOutcome =
  | { readonly kind: "accepted" }
  | { readonly kind: "refused"; readonly reason: string; readonly isPermanent: boolean };

export interface MailerOptions {
  readonly server: SmtpServer;
  readonly from: MailAddress;
  readonly timeouts?: Partial<typeof defaultTimeouts>;
  /** PEM certificates of the authorities to trust instead of Node's own. */
  readonly ca?: string;
}

const defaultTimeouts = {
  connectMs: 5_000,
  /** Maximum time without a byte from the server. */
  idleMs: 15_000,
  /** Maximum time for the whole attempt. */
  totalMs: 45_000,
};

/** Creates a mailer that opens a connection for each mail: mails are rare, and idle connections would go stale. */
export function createMailer({ server, from, timeouts, ca }: MailerOptions) {
  const { connectMs, idleMs, totalMs } = { ...defaultTimeouts, ...timeouts };
  const { host, port, encryption, credentials } = server;
  const transport = createTransport({
    host,
    port,
    secure: encryption === "tls",
    requireTLS: encryption === "starttls",
    ignoreTLS: encryption === "off",
    tls: { minVersion: "TLSv1.2", ...(ca === undefined ? {} : { ca }) },
    ...(credentials && { auth: { user: credentials.user, pass: credentials.password } }),
    connectionTimeout: connectMs,
    dnsTimeout: connectMs,
    greetingTimeout: idleMs,
    socketTimeout: idleMs,
    logger: false,
  });
  return {
    /** Never rejects. When `signal` aborts, sending stops and the outcome is `refused`. */
    async send(mail: OutgoingMail, signal?: AbortSignal): Promise<MailOutcome> {
      const timeout = AbortSignal.timeout(totalMs);
      const abortSignal = signal ? AbortSignal.any([timeout, signal]) : timeout;
      try {
        await transport.sendMail({ ...toSendMailOptions(mail, from), signal: abortSignal });
        return { kind: "accepted" };
      } catch (error) {
        return toRefusal(error, credentials?.password);
      }
    },
  };
}

/** Returns the mail in the format of an `.eml` file. */
export async function renderMail(mail: OutgoingMail, from: MailAddress): Promise<Buffer> {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: "unix" });
  const { message } = await transport.sendMail(toSendMailOptions(mail, from));
  return message as Buffer;
}

/** Passes e-mail addresses as objects: nodemailer would parse text, and a comma would add a recipient. */
function toSendMailOptions(
  { id, to, subject, text, html, createdAt }: OutgoingMail,
  from: MailAddress,
): SendMailOptions {
  return {
    // A copy, because nodemailer modifies the object and the configuration is frozen.
    from: { ...from },
    to: { name: "", address: to },
    envelope: { from: from.address, to: [to] },
    subject,
    text,
    html,
    date: createdAt,
    messageId: `<${id}@${from.address.slice(from.address.lastIndexOf("@") + 1)}>`,
    // Asks mail servers not to send automatic replies (RFC 3834).
    headers: { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All" },
    // Texts contain user input, which must not make nodemailer read a file or fetch a URL.
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

interface SmtpError extends Error {
  code?: string;
  response?: string;
  responseCode?: number;
  command?: string;
}

/** nodemailer's codes for steps at which a server can reject the mail itself. */
const MESSAGE_ERROR_CODES = new Set(["EENVELOPE", "EMESSAGE"]);
const MAX_REASON_LENGTH = 300;

function toRefusal(thrown: unknown, password: string | undefined): MailOutcome {
  const error = thrown as SmtpError;
  const { code = "", responseCode = 0 } = error;
  const isRefused = responseCode >= 500 && responseCode !== 503;
  // A wrong password or a server that accepts no mail is not permanent: once fixed, the same mail can be sent.
  const isPermanent = MESSAGE_ERROR_CODES.has(code) && (isRefused || responseCode === 0);
  return { kind: "refused", reason: sanitizeReason(error, password), isPermanent };
}

/** Returns the server's message as one line of up to 300 characters, without the password and without links of the mail. */
function sanitizeReason({ code, response, message }: SmtpError, password: string | undefined): string {
  const serverMessage = code === "EABORT" ? "the mail server took too long" : (response ?? message);
  let line = serverMessage.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").replace(/\bhttps?:\/\/\S+/gi, "[link]");
  for (const secret of secretForms(password)) line = line.replaceAll(secret, "[secret]");
  return line.trim().slice(0, MAX_REASON_LENGTH);
}

function secretForms(password: string | undefined): string[] {
  if (password === undefined || password === "") return [];
  return [password, Buffer.from(password).toString("base64"), encodeURIComponent(password)];
}
