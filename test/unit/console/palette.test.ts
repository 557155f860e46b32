import { describe, expect, it } from "vitest";
import { isSearch, jobIdOf, pageOfId } from "../../../src/console/app/palette/palette.ids.ts";
import { matchesText, palettePages } from "../../../src/console/app/palette/palette.items.ts";
import type { Role, Scope, Session } from "../../../src/console/app/session/session.ts";

const ULID = "01JD0000000000000000000001";

function session(role: Role, scopes: Scope[] = ["jobs:read"]): Session {
  return {
    user: { id: "usr_1", role, name: "Ann", email: "ann@example.com" },
    organization: role === "operator" ? null : { id: "org_1", name: "A", type: "agent", time_zone: "UTC" },
    scopes,
    test_scopes: scopes,
  } as unknown as Session;
}

const paths = (...of: Parameters<typeof palettePages>) => palettePages(...of).map(({ to }) => to);

describe("the pages of the palette", () => {
  it("are those of the navigation, with the pages of Integrations", () => {
    expect(paths(session("viewer"), "live")).toEqual([
      "/",
      "/jobs",
      "/members",
      "/security",
      "/notifications",
    ]);
    const developer = session("developer", ["jobs:read", "webhooks:manage"]);
    expect(paths(developer, "live")).toContain("/integrations/usage");
    expect(paths(developer, "live")).not.toContain("/integrations");
    expect(paths(developer, "test")).not.toContain("/members");
    const operator = paths(session("operator", ["webhooks:manage"]), "live");
    expect(operator).toContain("/operator/mail");
    expect(operator).toContain("/integrations/requests");
    expect(operator).not.toContain("/integrations/usage");
  });
});

it.each([
  ["whe", "/integrations/endpoints/$id"],
  ["dlv", "/integrations/deliveries/$id"],
  ["req", "/integrations/requests"],
  ["key", "/integrations/requests"],
  ["org", "/operator/organizations/$id"],
  ["arq", "/operator/requests/$id"],
])("an id with %s opens %s, in any case of letters", (prefix, to) => {
  const id = `${prefix}_${ULID}`;
  expect(pageOfId(id)?.link).toMatchObject({ to });
  expect(pageOfId(id.toUpperCase())?.link).toEqual(pageOfId(id)?.link);
  expect(isSearch(id)).toBe(false);
});

it("tells ids and secrets from texts to search", () => {
  expect(jobIdOf(`JOB_${ULID.toLowerCase()}`)).toBe(`job_${ULID}`);
  expect(["key_1", "org", "WM-100041", "evt_1", "job_12"].map((text) => isSearch(text))).not.toContain(false);
  for (const secret of ["wmk_ab12cd34_x", "WMK_test_x", "whsec_MfKQ9r8"])
    expect(isSearch(secret)).toBe(false);
});

it("matches words in any order, and parts of words", () => {
  const item = { label: "Create API key", description: "Integrations" };
  for (const text of ["key create", "INTEGR api", "api"]) expect(matchesText(item, text)).toBe(true);
  for (const text of ["keys", "create endpoint"]) expect(matchesText(item, text)).toBe(false);
});
