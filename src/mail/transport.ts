/** Sends mails by SMTP, or writes them to `.eml` files if no mail server is configured. */
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTransport, type SendMailOptions } from "nodemailer";
import { type MailAddress, type SmtpServer, toSingleLine } from "../core/mail.ts";
import { redactLinks } from "./template.ts";

export interface OutgoingMail {
  /** The same at each attempt, so that the recipient's server can detect a duplicate. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly createdAt: Date;
}

/** `failed`: the server would reject the same mail again. `pending`: it may accept it later. `error` contains no secrets. */
export type MailOutcome =
  | { readonly status: "sent" | "stored"; readonly error: null }
  | { readonly status: "pending" | "failed"; readonly error: string };

export interface MailTransport {
  /** Never rejects. When `signal` aborts, sending stops. */
  deliver(mail: OutgoingMail, signal: AbortSignal): Promise<MailOutcome>;
  /** Deletes the files of mails created before `beforeMs`. */
  purgeExpired(beforeMs: number): Promise<void>;
}

export interface MailTransportOptions {
  /** Null: mails are written to files. */
  readonly smtp: SmtpServer | null;
  readonly from: MailAddress;
  /** The folder for the files. */
  readonly directory: string;
  /** The maximum time for an attempt. Default: 45 s. */
  readonly timeoutMs?: number;
}

const CONNECT_TIMEOUT_MS = 5_000;

/** Opens a connection for each mail: mails are rare, and idle connections would go stale. */
export function createMailTransport(options: MailTransportOptions): MailTransport {
  const { smtp, from, directory } = options;
  return {
    deliver: smtp ? createMailer(smtp, options) : (mail) => storeMail(mail, from, directory),
    purgeExpired: (beforeMs) => purgeFiles(directory, beforeMs),
  };
}

function createMailer(
  server: SmtpServer,
  { from, timeoutMs = 45_000 }: MailTransportOptions,
): MailTransport["deliver"] {
  const transport = createTransport({
    ...server,
    tls: { minVersion: "TLSv1.2" },
    connectionTimeout: CONNECT_TIMEOUT_MS,
  });
  return async (mail, stop) => {
    const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), stop]);
    try {
      await transport.sendMail({ ...toSendMailOptions(mail, from), signal });
      return { status: "sent", error: null };
    } catch (error) {
      return toRefusal(error as SmtpError, server.auth?.pass);
    }
  };
}

/** Passes e-mail addresses as objects: nodemailer would parse text, and a comma would add a recipient. */
function toSendMailOptions(
  { id, to, subject, text, html, createdAt }: OutgoingMail,
  from: MailAddress,
): SendMailOptions {
  return {
    // A copy, because nodemailer modifies the object.
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
}

function toRefusal(error: SmtpError, password: string | undefined): MailOutcome {
  const { code = "", responseCode = 0 } = error;
  const isAboutMail = code === "EENVELOPE" || code === "EMESSAGE";
  const isRejected = responseCode === 0 || (responseCode >= 500 && responseCode !== 503);
  // A wrong password or a server that accepts no mail is not permanent: once fixed, the same mail can be sent.
  return { status: isAboutMail && isRejected ? "failed" : "pending", error: errorLine(error, password) };
}

/** Returns the server's message as one line, without the password and without links of the mail. */
function errorLine({ code, response, message }: SmtpError, password: string | undefined): string {
  const text = code === "EABORT" ? "the mail server took too long" : (response ?? message);
  let line = redactLinks(text);
  if (password)
    for (const form of [password, Buffer.from(password).toString("base64"), encodeURIComponent(password)])
      line = line.replaceAll(form, "[secret]");
  return toSingleLine(line);
}

const FILE_SUFFIX = ".eml";

/** The file is readable only by the owner of the process, as mails contain sign-in links. */
async function storeMail(mail: OutgoingMail, from: MailAddress, folder: string): Promise<MailOutcome> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const name = `${fileTime(mail.createdAt)}-${mail.id}${FILE_SUFFIX}`;
    const renderer = createTransport({ streamTransport: true, buffer: true, newline: "unix" });
    const { message } = await renderer.sendMail(toSendMailOptions(mail, from));
    await writeFile(join(folder, name), message as Buffer, { mode: 0o600 });
    return { status: "stored", error: null };
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    return { status: "pending", error: `the mail could not be written to a file (${code})` };
  }
}

async function purgeFiles(folder: string, beforeMs: number): Promise<void> {
  const names = await readdir(folder).catch(() => [] as string[]);
  const before = fileTime(new Date(beforeMs));
  for (const name of names.filter((each) => each.endsWith(FILE_SUFFIX) && each < before))
    await rm(join(folder, name), { force: true });
}

/** Sorts by time. */
function fileTime(time: Date): string {
  return time.toISOString().replaceAll(":", "-");
}
