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

/** Lines are broken at another place in the mail. */
const plain = (text: string): string => text.replaceAll(/\s+/g, " ");

describe("what a person will be sent", () => {
  const asked = { email: "office@harbour.example", organizationName: "Harbour" };
  const url = "https://api.example.com/register#token=x";

  it.each<[string, MailDraft, { to: string; subject: string; text: string }]>([
    ["a registration", registrationDraft(asked), registrationMail(asked, url)],
    ["a rejection", rejectionDraft(asked, "No such company."), rejectionMail(asked, "No such company.")],
    ["a question", questionDraft(asked, "How many jobs?"), questionMail(asked, "How many jobs?", url)],
  ])("is what the page shows: %s", (_name, draft, mail) => {
    expect([draft.to, draft.subject]).toEqual([mail.to, mail.subject]);
    const text = plain(mail.text);
    for (const words of [...draft.paragraphs, draft.action ?? ""]) expect(text).toContain(words);
  });
});

describe("the links of a mail", () => {
  const own = "https://api.example.com/console/";

  it("lead to this service, and end before what closes the sentence", () => {
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
  ])("lead nowhere else: %s", (link) => {
    expect(splitLinks(`See ${link} there`, own).every(({ href }) => href === null)).toBe(true);
    expect(
      splitLinks(`See ${link} there`, own)
        .map(({ text }) => text)
        .join(""),
    ).toBe(`See ${link} there`);
  });

  it("take one loopback name for another, on the same port", () => {
    const [link] = splitLinks("http://127.0.0.1:4000/register#token=a", "http://localhost:4000/");
    expect(link?.href).toBe("http://127.0.0.1:4000/register#token=a");
    expect(splitLinks("http://127.0.0.1:4001/", "http://localhost:4000/")[0]?.href).toBeNull();
  });
});

describe("addresses", () => {
  it("say which requests are listed: those that wait unless said", () => {
    expect(toStatuses(parseAccountRequestsSearch({}))).toEqual(["PENDING"]);
    expect(toStatuses(parseAccountRequestsSearch({ status: "rejected" }))).toEqual(["REJECTED"]);
    expect(toStatuses(parseAccountRequestsSearch({ status: "all" }))).toBeUndefined();
    expect(toStatuses(parseAccountRequestsSearch({ status: "nonsense" }))).toEqual(["PENDING"]);
  });

  it("say which mails are listed: all unless said", () => {
    expect(toMailStatus(parseMailSearch({}))).toBeUndefined();
    expect(toMailStatus(parseMailSearch({ status: "failed" }))).toBe("FAILED");
    expect(toMailStatus(parseMailSearch({ status: ["x", "failed"] }))).toBeUndefined();
  });

  it("say which part of the audit log is shown, and leave out what makes no sense", () => {
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

it("each act of the audit log stands once in the menu", () => {
  const listed = actionGroups().flatMap(({ items }) => items.map(({ value }) => value));
  expect(listed.toSorted()).toEqual(Object.keys(auditActionLabels).toSorted());
  expect(actionGroups().map(({ group }) => group)).not.toContain("Others");
});
