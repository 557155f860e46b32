/** The mailer's encryption and timeouts, against a real SMTP server. */
import { createServer, type AddressInfo } from "node:net";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createMailer, type MailerOptions, type MailOutcome } from "../../../src/core/mail/mailer.ts";
import type { SmtpServer } from "../../../src/core/mail/smtp-url.ts";
import {
  startTestSmtpServer,
  type TestSmtpServer,
  type TestSmtpServerOptions,
} from "../../support/smtp-server.ts";
import { selfSignedCertificate } from "../../support/webhooks/self-signed-certificate.ts";

const credentials = { user: "waymark", password: "a password" };

let receivedCredentials: string[];
beforeEach(() => {
  receivedCredentials = [];
});

async function startServer(options: TestSmtpServerOptions): Promise<TestSmtpServer> {
  const server = await startTestSmtpServer({
    ...selfSignedCertificate,
    authMethods: ["PLAIN"],
    onAuth({ username = "", password = "" }, _session, callback) {
      receivedCredentials.push(`${username}:${password}`);
      callback(null, { user: username });
    },
    ...options,
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

function send(server: Partial<SmtpServer>, options: Partial<MailerOptions> = {}): Promise<MailOutcome> {
  const mailer = createMailer({
    server: { host: "localhost", port: 0, encryption: "starttls", credentials, ...server },
    from: { name: "Waymark", address: "no-reply@waymark.example" },
    ...options,
  });
  return mailer.send({
    id: "eml_1",
    to: "agent@waymark.example",
    subject: "Welcome",
    text: "text",
    html: "<p>text</p>",
    createdAt: new Date(),
  });
}

const withStarttls: TestSmtpServerOptions = { disabledCommands: [] };
const ca = selfSignedCertificate.cert;

describe("encryption", () => {
  it("starts with STARTTLS before login and mail", async () => {
    const server = await startServer(withStarttls);
    expect(await send({ port: server.port }, { ca })).toEqual({ kind: "accepted" });
    expect(server.received[0]?.isSecure).toBe(true);
    expect(receivedCredentials).toEqual(["waymark:a password"]);
  });

  it("starts with the first byte for smtps", async () => {
    const server = await startServer({ ...withStarttls, secure: true });
    expect(await send({ port: server.port, encryption: "tls" }, { ca })).toEqual({ kind: "accepted" });
    expect(server.received[0]?.isSecure).toBe(true);
  });

  it("is required: without STARTTLS the mailer sends neither password nor mail, and the failure is temporary", async () => {
    const server = await startServer({ disabledCommands: ["STARTTLS"], allowInsecureAuth: true });
    expect(await send({ port: server.port }, { ca })).toMatchObject({ kind: "refused", isPermanent: false });
    expect(receivedCredentials).toEqual([]);
    expect(server.received).toEqual([]);
  });

  // evidence: mail-tls-verified
  it("requires a certificate from a trusted authority", async () => {
    const server = await startServer(withStarttls);
    expect(await send({ port: server.port })).toMatchObject({ kind: "refused", isPermanent: false });
    expect(receivedCredentials).toEqual([]);
  });

  it("is off if the settings turn it off", async () => {
    const server = await startServer({ disabledCommands: ["STARTTLS"], allowInsecureAuth: true });
    expect(await send({ port: server.port, encryption: "off" })).toEqual({ kind: "accepted" });
    expect(server.received[0]?.isSecure).toBe(false);
  });
});

describe("a slow server", () => {
  it("causes a timeout, even if it keeps sending bytes", async () => {
    const slowServer = createServer((socket) => {
      socket.on("error", () => undefined);
      const timer = setInterval(() => socket.write("220-wait\r\n"), 20);
      socket.on("close", () => clearInterval(timer));
    });
    await new Promise<void>((resolve) => slowServer.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void slowServer.close());
    const { port } = slowServer.address() as AddressInfo;
    const outcome = await send({ port, encryption: "off" }, { timeouts: { idleMs: 5_000, totalMs: 200 } });
    expect(outcome).toEqual({ kind: "refused", reason: "the mail server took too long", isPermanent: false });
  });
});
