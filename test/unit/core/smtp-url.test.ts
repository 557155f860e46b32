import { describe, expect, it } from "vitest";
import { parseSender } from "../../../src/core/mail/address.ts";
import { redactLinks } from "../../../src/mail/template.ts";
import { parseSmtpUrl } from "../../../src/core/mail/smtp-url.ts";

describe("parseSmtpUrl", () => {
  it.each([
    [
      "smtp://mail.example.com",
      { host: "mail.example.com", port: 587, encryption: "starttls", credentials: null },
    ],
    [
      "smtps://mail.example.com/",
      { host: "mail.example.com", port: 465, encryption: "tls", credentials: null },
    ],
    ["smtp://localhost:1025", { host: "localhost", port: 1025, encryption: "off", credentials: null }],
    ["smtp://127.0.0.1:1025", { host: "127.0.0.1", port: 1025, encryption: "off", credentials: null }],
    ["smtp://[::1]:1025", { host: "::1", port: 1025, encryption: "off", credentials: null }],
    ["smtps://localhost:465", { host: "localhost", port: 465, encryption: "tls", credentials: null }],
    ["smtp://mailpit:1025?tls=off", { host: "mailpit", port: 1025, encryption: "off", credentials: null }],
    // A remote host despite its prefix.
    [
      "smtp://127.0.0.1.example.com",
      { host: "127.0.0.1.example.com", port: 587, encryption: "starttls", credentials: null },
    ],
    [
      "smtp://user%40example.com:a%2Fb%25@mail.example.com:25",
      {
        host: "mail.example.com",
        port: 25,
        encryption: "starttls",
        credentials: { user: "user@example.com", password: "a/b%" },
      },
    ],
  ])("parses %s", (text, server) => {
    expect(parseSmtpUrl(text)).toEqual(server);
  });

  it.each([
    "mail.example.com",
    "http://mail.example.com",
    "smtp://",
    "smtp://mail.example.com/path",
    "smtp://mail.example.com?tls=on",
    "smtp://mail.example.com?tls=off&ignoreTLS=true",
    "smtps://mail.example.com?tls=off",
    "smtp://mail.example.com#x",
    "smtp://mail.example.com:99999",
  ])("rejects %s", (text) => {
    expect(parseSmtpUrl(text)).toBeNull();
  });
});

describe("parseSender", () => {
  it.each([
    ["no-reply@example.com", { name: "", address: "no-reply@example.com" }],
    ["Waymark <no-reply@example.com>", { name: "Waymark", address: "no-reply@example.com" }],
    ['"Waymark, Ltd." <no-reply@example.com>', { name: "Waymark, Ltd.", address: "no-reply@example.com" }],
  ])("parses %s", (text, sender) => {
    expect(parseSender(text)).toEqual(sender);
  });

  it.each(["Waymark", "a@b@c", "<>", "Waymark <no-reply>", "x <a@b.example> y"])("rejects %s", (text) => {
    expect(parseSender(text)).toBeNull();
  });
});

describe("redactLinks", () => {
  it("replaces links and leaves other text unchanged", () => {
    expect(redactLinks("Open\nhttps://a.example/x#token=1\nor HTTP://b.example, please: c.example")).toBe(
      "Open\n[link]\nor [link] please: c.example",
    );
  });
});
