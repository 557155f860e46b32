/** Mail handed to an SMTP server, or written as a file: bounded in time, one recipient, failures as data without secrets. */
import { createTransport, type SendMailOptions } from "nodemailer";
import type { SmtpServer } from "./smtp-url.ts";

export interface OutgoingMail {
  /** The same at each attempt, so that a mail that comes twice can be known as one. */
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

/** `isPermanent`: the same mail would be refused again. */
export type MailOutcome =
  | { readonly kind: "accepted" }
  | { readonly kind: "refused"; readonly reason: string; readonly isPermanent: boolean };

export interface Mailer {
  /** Never rejects. `signal` ends it at once. */
  send(mail: OutgoingMail, signal?: AbortSignal): Promise<MailOutcome>;
}

export interface MailerOptions {
  readonly server: SmtpServer;
  readonly from: MailAddress;
  readonly timeouts?: Partial<MailerTimeouts>;
  /** Certificates of authorities to trust in place of Node's own, as PEM. */
  readonly ca?: string;
}

interface MailerTimeouts {
  readonly connectMs: number;
  /** Without a byte from the server. */
  readonly idleMs: number;
  /** For the whole of it, however steadily the server drips. */
  readonly totalMs: number;
}

const defaultTimeouts: MailerTimeouts = { connectMs: 5_000, idleMs: 15_000, totalMs: 45_000 };

/** A connection for each mail: they are few, and nothing then is left to go stale. */
export function createMailer({ server, from, timeouts, ca }: MailerOptions): Mailer {
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
    async send(mail, signal) {
      const late = AbortSignal.timeout(totalMs);
      const ended = signal ? AbortSignal.any([late, signal]) : late;
      try {
        await transport.sendMail({ ...toSendMailOptions(mail, from), signal: ended });
        return { kind: "accepted" };
      } catch (error) {
        return toRefusal(error, credentials?.password);
      }
    },
  };
}

/** The mail as it would travel: for a file. */
export async function renderMail(mail: OutgoingMail, from: MailAddress): Promise<Buffer> {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: "unix" });
  const { message } = await transport.sendMail(toSendMailOptions(mail, from));
  return message as Buffer;
}

/** Addresses as objects: as text they would be parsed, and a comma would make two of one. */
function toSendMailOptions(
  { id, to, subject, text, html, createdAt }: OutgoingMail,
  from: MailAddress,
): SendMailOptions {
  return {
    // A copy: nodemailer writes into it, and settings are frozen.
    from: { ...from },
    to: { name: "", address: to },
    envelope: { from: from.address, to: [to] },
    subject,
    text,
    html,
    date: createdAt,
    messageId: `<${id}@${from.address.slice(from.address.lastIndexOf("@") + 1)}>`,
    // No answers of machines (RFC 3834): nobody reads them.
    headers: { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All" },
    // The texts hold what people have written: nothing in them may name a file or an address to take in.
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

/** What a mail server says of the mail itself, by the step at which it says it. */
const MESSAGE_ERROR_CODES = new Set(["EENVELOPE", "EMESSAGE"]);
const MAX_REASON_LENGTH = 300;

function toRefusal(thrown: unknown, password: string | undefined): MailOutcome {
  const error = thrown as SmtpError;
  const { code = "", responseCode = 0 } = error;
  const isRefused = responseCode >= 500 && responseCode !== 503;
  // A wrong password or a server that takes nobody says nothing of the mail: mended, the same mail goes out.
  const isPermanent = MESSAGE_ERROR_CODES.has(code) && (isRefused || responseCode === 0);
  return { kind: "refused", reason: sanitizeReason(error, password), isPermanent };
}

/** One line, without what the server may have been told: the password, and links of the mail that it repeats. */
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
