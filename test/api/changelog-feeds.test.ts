/** The change feeds: the releases of CHANGELOG.md as a JSON Feed and as Atom. */
import { beforeAll, expect, it } from "vitest";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";

let app: SharedApp;
beforeAll(async () => {
  app = await sharedApp("api");
});

it("lists the releases in JSON, without unreleased changes", async () => {
  const response = await app.request("/changelog.json");
  const { items } = response.body as { items: { content_text: string }[] };
  expect(items.at(-1)).toMatchObject({
    id: "release-1.0.0-rc",
    title: "Waymark 1.0.0-rc",
    date_published: "2026-11-23T00:00:00Z",
    tags: ["release"],
  });
  expect(items.at(-1)?.content_text).toMatch(/^The first release candidate\.[^]*### Added/);
  expect(JSON.stringify(items)).not.toContain("Unreleased");
});

it("lists the same releases in Atom, with an ETag", async () => {
  const { body } = await app.request("/changelog.json");
  const { items } = body as { items: { id: string }[] };
  const response = await app.request("/changelog.atom").buffer();
  expect(response.get("content-type")).toBe("application/atom+xml; charset=utf-8");
  expect(response.text.match(/<id>[^<]*#[^<]+/g)).toEqual(
    items.map(({ id }) => `<id>${app.url}/changelog.atom#${id}`),
  );
  expect(response.text).toContain(`<link rel="self" href="${app.url}/changelog.atom"/>`);
  const etag = response.get("etag") ?? "";
  const repeated = await app.request("/changelog.atom", { headers: { "if-none-match": etag } });
  expect(repeated.status).toBe(304);
});
