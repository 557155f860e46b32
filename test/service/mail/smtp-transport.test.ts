/** The mailer's encryption and timeouts, against a real SMTP server. */
import { createServer, type AddressInfo } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { parseSmtpUrl } from "../../../src/core/mail.ts";
import {
  createMailTransport,
  type MailOutcome,
  type MailTransportOptions,
} from "../../../src/mail/transport.ts";
import {
  startTestSmtpServer,
  type TestSmtpServer,
  type TestSmtpServerOptions,
} from "../../support/smtp-server.ts";
import { selfSignedCertificate } from "../../support/webhooks/self-signed-certificate.ts";

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

/** `url`: without the host. Certificates are of `localhost`, where encryption would be off. */
function send(url: string, port: number, options: Partial<MailTransportOptions> = {}): Promise<MailOutcome> {
  const [protocol, query = ""] = url.split("?");
  const smtp = parseSmtpUrl(`${protocol}://waymark:a%20password@mail.example:${port}${query && `?${query}`}`);
  const transport = createMailTransport({
    smtp: smtp && { ...smtp, host: "localhost" },
    from: { name: "Waymark", address: "no-reply@waymark.example" },
    directory: "unused",
    ...options,
  });
  const mail = {
    id: "eml_1",
    to: "agent@waymark.example",
    subject: "Welcome",
    text: "text",
    html: "<p>text</p>",
    createdAt: new Date(),
  };
  return transport.deliver(mail, new AbortController().signal);
}

const withStarttls: TestSmtpServerOptions = { disabledCommands: [] };

function trustTestServer(): void {
  const trusted = getCACertificates();
  setDefaultCACertificates([selfSignedCertificate.cert]);
  onTestFinished(() => setDefaultCACertificates(trusted));
}

describe("encryption", () => {
  it("starts with STARTTLS before login and mail", async () => {
    trustTestServer();
    const server = await startServer(withStarttls);
    expect(await send("smtp", server.port)).toMatchObject({ status: "sent" });
    expect(server.received[0]?.isSecure).toBe(true);
    expect(receivedCredentials).toEqual(["waymark:a password"]);
  });

  it("starts with the first byte for smtps", async () => {
    trustTestServer();
    const server = await startServer({ ...withStarttls, secure: true });
    expect(await send("smtps", server.port)).toMatchObject({ status: "sent" });
    expect(server.received[0]?.isSecure).toBe(true);
  });

  it("is required: without STARTTLS the mailer sends neither password nor mail, and the failure is temporary", async () => {
    trustTestServer();
    const server = await startServer({ disabledCommands: ["STARTTLS"], allowInsecureAuth: true });
    expect(await send("smtp", server.port)).toMatchObject({ status: "pending" });
    expect(receivedCredentials).toEqual([]);
    expect(server.received).toEqual([]);
  });

  // evidence: mail-tls-verified
  it("requires a certificate from a trusted authority", async () => {
    const server = await startServer(withStarttls);
    expect(await send("smtp", server.port)).toMatchObject({ status: "pending" });
    expect(receivedCredentials).toEqual([]);
  });

  it("is off if the settings turn it off", async () => {
    const server = await startServer({ disabledCommands: ["STARTTLS"], allowInsecureAuth: true });
    expect(await send("smtp?tls=off", server.port)).toMatchObject({ status: "sent" });
    expect(server.received[0]?.isSecure).toBe(false);
  });
});

it("a slow server causes a timeout, even if it keeps sending bytes", async () => {
  const slowServer = createServer((socket) => {
    socket.on("error", () => undefined);
    const timer = setInterval(() => socket.write("220-wait\r\n"), 20);
    socket.on("close", () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => slowServer.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void slowServer.close());
  const { port } = slowServer.address() as AddressInfo;
  const outcome = await send("smtp?tls=off", port, { timeoutMs: 200 });
  expect(outcome).toEqual({ status: "pending", error: "the mail server took too long" });
});
