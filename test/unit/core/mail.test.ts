import { describe, expect, it } from "vitest";
import { redactLinks } from "../../../src/mail/template.ts";
import { parseSender, parseSmtpUrl } from "../../../src/core/mail.ts";

const starttls = { secure: false, requireTLS: true, ignoreTLS: false };
const tls = { secure: true, requireTLS: false, ignoreTLS: false };
const off = { secure: false, requireTLS: false, ignoreTLS: true };

describe("parseSmtpUrl", () => {
  it.each([
    ["smtp://mail.example.com", { host: "mail.example.com", port: 587, ...starttls }],
    ["smtps://mail.example.com/", { host: "mail.example.com", port: 465, ...tls }],
    ["smtp://localhost:1025", { host: "localhost", port: 1025, ...off }],
    ["smtp://127.0.0.1:1025", { host: "127.0.0.1", port: 1025, ...off }],
    ["smtp://[::1]:1025", { host: "::1", port: 1025, ...off }],
    ["smtps://localhost:465", { host: "localhost", port: 465, ...tls }],
    ["smtp://mailpit:1025?tls=off", { host: "mailpit", port: 1025, ...off }],
    // A remote host despite its prefix.
    ["smtp://127.0.0.1.example.com", { host: "127.0.0.1.example.com", port: 587, ...starttls }],
    [
      "smtp://user%40example.com:a%2Fb%25@mail.example.com:25",
      { host: "mail.example.com", port: 25, ...starttls, auth: { user: "user@example.com", pass: "a/b%" } },
    ],
    // A password that is not percent-encoded.
    [
      "smtp://user:100%sure@mail.example.com",
      { host: "mail.example.com", port: 587, ...starttls, auth: { user: "user", pass: "100%sure" } },
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
