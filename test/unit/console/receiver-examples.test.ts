/** The receivers that the console shows are those of the guide. */
import { describe, expect, it } from "vitest";
import { receiverExamples } from "../../../src/console/pages/integrations/endpoints/secret/receiver-examples.ts";
import { codeBlocks, readPage } from "../../support/docs/guide-pages.ts";

const page = readPage("guide/webhooks/verify.md");
const labels = ["TypeScript", "Python", "Go", "Java", "PHP", "C#"];
const codesFor = (url: string): string[] => receiverExamples(page, url).map(({ code }) => code);

describe("the receivers in the console", () => {
  it("are the complete receivers of the guide", () => {
    const examples = receiverExamples(page, "https://example.com/webhooks");
    expect(examples.map(({ label }) => label)).toEqual(labels);
    const texts = codeBlocks(page).map(({ text }) => text);
    for (const { code } of examples) expect(texts).toContain(code);
  });

  it("listen at the path of the endpoint", () => {
    const codes = codesFor("https://example.com/hooks/waymark-1?token=x");
    expect(codes).toHaveLength(labels.length);
    for (const code of codes) {
      expect(code.match(/(["'])\/hooks\/waymark-1\1/g)).toHaveLength(1);
      expect(code).not.toContain("/webhooks");
    }
  });

  it.each(["https://example.com/it's", "https://example.com/$(id)", "https://example.com/%22;", "not a URL"])(
    "keep their path for %s",
    (url) => {
      expect(codesFor(url)).toEqual(codesFor("https://example.com/webhooks"));
    },
  );
});
