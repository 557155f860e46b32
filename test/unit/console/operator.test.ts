import { describe, expect, it } from "vitest";
import { questionMail, registrationMail, rejectionMail } from "../../../src/accounts/requests/mails.ts";
import {
  parseAccountRequestsSearch,
  toStatuses,
} from "../../../src/console/pages/operator/account-requests/account-requests.search.ts";
import { parseAuditSearch } from "../../../src/console/pages/audit/audit.search.ts";
import { actionGroups, auditActionLabels } from "../../../src/console/pages/audit/audit.labels.ts";
import { splitLinks } from "../../../src/console/pages/operator/mail/mail.links.ts";
import { parseMailSearch, toMailStatus } from "../../../src/console/pages/operator/mail/mail.search.ts";
import {
  questionDraft,
  registrationDraft,
  rejectionDraft,
  type MailDraft,
} from "../../../src/console/pages/operator/account-requests/mail-drafts.ts";

/** Collapses whitespace, because mails wrap lines. */
const plain = (text: string): string => text.replaceAll(/\s+/g, " ");

describe("the mail preview", () => {
  const recipient = { email: "office@harbour.example", organizationName: "Harbour" };
  const url = "https://api.example.com/register#token=x";

  it.each<[string, MailDraft, { to: string; subject: string; text: string }]>([
    ["a registration", registrationDraft(recipient), registrationMail(recipient, url)],
    [
      "a rejection",
      rejectionDraft(recipient, "No such company."),
      rejectionMail(recipient, "No such company."),
    ],
    [
      "a question",
      questionDraft(recipient, "How many jobs?"),
      questionMail(recipient, "How many jobs?", url),
    ],
  ])("matches the mail that is sent: %s", (_name, draft, mail) => {
    expect([draft.to, draft.subject]).toEqual([mail.to, mail.subject]);
    const text = plain(mail.text);
    for (const part of [...draft.paragraphs, draft.action ?? ""]) expect(text).toContain(part);
  });
});

describe("links in a mail", () => {
  const own = "https://api.example.com/console/";

  it("to this service are clickable, without trailing punctuation", () => {
    expect(splitLinks("Go to (https://api.example.com/register#token=a-_b). Now.", own)).toEqual([
      { text: "Go to (", href: null },
      {
        text: "https://api.example.com/register#token=a-_b",
        href: "https://api.example.com/register#token=a-_b",
      },
      { text: "). Now.", href: null },
    ]);
  });

  it.each([
    "https://evil.example/register",
    "https://api.example.com.evil.example/",
    "https://api.example.com@evil.example/",
    "https://user:pass@api.example.com/",
    "http://api.example.com/",
    "https://api.example.com:444/",
    "javascript:alert(1)",
  ])("to other sites stay plain text: %s", (link) => {
    const parts = splitLinks(`See ${link} there`, own);
    expect(parts.every(({ href }) => href === null)).toBe(true);
    expect(parts.map(({ text }) => text).join("")).toBe(`See ${link} there`);
  });

  it("treat loopback host names on the same port as equal", () => {
    const [link] = splitLinks("http://127.0.0.1:4000/register#token=a", "http://localhost:4000/");
    expect(link?.href).toBe("http://127.0.0.1:4000/register#token=a");
    expect(splitLinks("http://127.0.0.1:4001/", "http://localhost:4000/")[0]?.href).toBeNull();
  });
});

describe("filters in the URL", () => {
  it("select account requests, by default the pending ones", () => {
    expect(toStatuses(parseAccountRequestsSearch({}))).toEqual(["PENDING"]);
    expect(toStatuses(parseAccountRequestsSearch({ status: "rejected" }))).toEqual(["REJECTED"]);
    expect(toStatuses(parseAccountRequestsSearch({ status: "all" }))).toBeUndefined();
    expect(toStatuses(parseAccountRequestsSearch({ status: "nonsense" }))).toEqual(["PENDING"]);
  });

  it("select mails, by default all", () => {
    expect(toMailStatus(parseMailSearch({}))).toBeUndefined();
    expect(toMailStatus(parseMailSearch({ status: "failed" }))).toBe("FAILED");
    expect(toMailStatus(parseMailSearch({ status: ["x", "failed"] }))).toBeUndefined();
  });

  it("select audit log entries, and drop invalid values", () => {
    const organization = "org_01JD0000000000000000000000";
    expect(parseAuditSearch({ action: "session.opened", organization })).toEqual({
      action: "session.opened",
      organization,
    });
    expect(parseAuditSearch({ action: "drop table", organization: "usr_1" })).toEqual({
      action: undefined,
      organization: undefined,
    });
  });
});

it("lists each audit action once in the menu", () => {
  const listed = actionGroups().flatMap(({ items }) => items.map(({ value }) => value));
  expect(listed.toSorted()).toEqual(Object.keys(auditActionLabels).toSorted());
  expect(actionGroups().map(({ group }) => group)).not.toContain("Other");
});
