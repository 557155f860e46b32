/** The pages of the guide that the console links. test/api/guide.test.ts opens each of them. */
import { describe, expect, it } from "vitest";
import { consoleErrorGuide, errorCodeGuide, guide } from "../../../src/console/app/guide/guide-pages.ts";
import { headingInGuide, readPage, tableRows } from "../../support/docs/guide-pages.ts";

const documentedCodes = tableRows(readPage("guide/errors.md"), "Status").map(
  ([, link = ""]) => /^\[(\w+)\]/.exec(link)?.[1] ?? "",
);

it.each(Object.values(guide))("a link to $target shows the heading that it opens", async (page) => {
  expect(await headingInGuide(page.target)).toBe(page.title);
});

describe("the error code of an API request", () => {
  it.each(documentedCodes)("%s links its section", async (code) => {
    const { target, title } = errorCodeGuide(code);
    expect(target).toContain("#");
    expect(await headingInGuide(target)).toBe(title);
    expect(title).toContain(code);
  });

  it.each(["TeapotException", "constructor"])(
    "%s, which the guide does not have, links all codes",
    (code) => {
      expect(errorCodeGuide(code)).toBe(guide.errors);
    },
  );
});

describe("an error of the console", () => {
  it.each([
    [429, "TooManyRequestsException (429)"],
    ["RATE_LIMITED", "TooManyRequestsException (429)"],
    [500, "InternalServerErrorException (500)"],
    ["INTERNAL_SERVER_ERROR", "InternalServerErrorException (500)"],
    ["TIMEOUT", "ServiceUnavailableException (503)"],
    ["BAD_USER_INPUT", "BadRequestException (400)"],
    ["FORBIDDEN", "Members"],
  ])("%s links the section that fits", (error, title) => {
    expect(consoleErrorGuide(error)?.title).toBe(title);
  });

  it.each([401, 404, 409, "UNAUTHENTICATED", "undefined", "toString"])(
    "%s has no such section, because the one about its code explains API keys and headers",
    (error) => {
      expect(consoleErrorGuide(error)).toBeNull();
    },
  );
});
