import { describe, expect, it } from "vitest";
import { expectData, expectEnvelope, expectFailure } from "../support/app/assertions.ts";
import { getJob } from "../support/app/job-client.ts";
import { parseLastResponse, sendBytes } from "../support/app/raw-http-client.ts";
import { useSharedApp } from "../support/app/shared-app.ts";

const { app, agent } = useSharedApp();

/** Joins the lines of a request and adds an empty line. */
const lines = (...text: string[]): string => `${text.join("\r\n")}\r\n\r\n`;
const closing = ["Host: localhost", "Connection: close"];

const keyed = (): string[] => [...closing, `x-api-key: ${agent.key}`];

describe("400 in the envelope for invalid HTTP", () => {
  it.each([
    ["noise", "\0\u0001\u0002\r\n\r\n"],
    ["an invalid method", lines("FOO /v1/jobs HTTP/1.1", ...closing)],
    ["a TLS handshake", "\u0016\u0003\u0001\u0002\u0000\u0001\u0000"],
    ["an invalid version", lines("GET /v1/jobs HTTP/9.9", ...closing)],
    ["a header without a colon", lines("GET /v1/jobs HTTP/1.1", "Host x")],
    ["a space before the colon", lines("GET /v1/jobs HTTP/1.1", "Host : x")],
    ["a control character in a header", lines("GET /v1/jobs HTTP/1.1", "Host: localhost", "X: a\0b")],
    [
      "two Content-Length headers",
      lines("PATCH /v1/jobs/batch HTTP/1.1", "Host: localhost", "Content-Length: 1", "Content-Length: 2"),
    ],
    [
      "a Content-Length that is not a number",
      lines("PATCH /v1/jobs/batch HTTP/1.1", "Host: localhost", "Content-Length: x"),
    ],
    [
      "Content-Length together with chunked encoding",
      lines(
        "PATCH /v1/jobs/batch HTTP/1.1",
        "Host: localhost",
        "Content-Length: 5",
        "Transfer-Encoding: chunked",
      ),
    ],
    ["non-ASCII bytes in the path", lines("GET /v1/jobs?q=\u00ff HTTP/1.1", ...closing)],
  ])("for %s", async (_, text) => {
    const received = await sendBytes(app.url, Buffer.from(text, "latin1"));
    expect(received.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(received).not.toMatch(/HPE_|llhttp|Parse Error/);
    expectFailure(parseLastResponse(received), 400);
  });

  // evidence: http-broken-chunk-rejected
  it("for a broken chunk, with a single response", async () => {
    const head = [
      "PATCH /v1/jobs/batch HTTP/1.1",
      "Host: localhost",
      `x-api-key: ${agent.key}`,
      "content-type: application/json",
    ];
    const received = await sendBytes(app.url, `${lines(...head, "Transfer-Encoding: chunked")}ZZ\r\n{}`);
    expect(received.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expectFailure(parseLastResponse(received), 400);
  });
});

describe("headers over the size limit", () => {
  // evidence: header-size-limit
  it.each([
    ["one header that is too long", [`x-long: ${"a".repeat(20_000)}`]],
    ["too many bytes in total", Array.from({ length: 500 }, (_, index) => `x-${index}: ${"b".repeat(60)}`)],
    ["a path that is too long", []],
  ])("are rejected in the envelope: %s", async (title, headers) => {
    const path = title.includes("path") ? `/v1/jobs?q=${"a".repeat(20_000)}` : "/v1/jobs";
    const response = parseLastResponse(
      await sendBytes(app.url, lines(`GET ${path} HTTP/1.1`, ...closing, ...headers)),
    );
    expectEnvelope(response);
    expect(response.status).toBe(431);
    expect(response.body).toMatchObject({
      success: false,
      data: null,
      error: { code: "BadRequestException", details: null },
    });
  });

  // evidence: header-many-small-accepted
  it("don't include many small headers", async () => {
    const many = Array.from({ length: 300 }, (_, index) => `x-${index}: 1`);
    const text = lines("GET /v1/jobs HTTP/1.1", ...closing, `x-api-key: ${agent.key}`, ...many);
    expectData(parseLastResponse(await sendBytes(app.url, text)));
  });
});

describe("unusual but valid HTTP", () => {
  it.each<[string, string, string[]]>([
    ["HTTP/1.0 without Host", "/v1/jobs HTTP/1.0", []],
    ["an absolute URL in the request line", "http://elsewhere.example/v1/jobs?page_size=1 HTTP/1.1", closing],
    [
      "an unsupported upgrade",
      "/v1/jobs HTTP/1.1",
      ["Host: localhost", "Connection: Upgrade, close", "Upgrade: websocket"],
    ],
  ])("is answered in the envelope: %s", async (_, target, headers) => {
    const text = lines(`GET ${target}`, ...headers, `x-api-key: ${agent.key}`);
    expectData(parseLastResponse(await sendBytes(app.url, text)));
  });

  // evidence: http-unsupported-method-405
  it("returns 405 for a valid method that the path does not support", async () => {
    for (const method of ["TRACE", "PROPFIND", "PURGE", "M-SEARCH"]) {
      const response = parseLastResponse(
        await sendBytes(app.url, lines(`${method} /v1/jobs HTTP/1.1`, ...keyed())),
      );
      expectFailure(response, 405);
      expect(response.headers.get("allow")?.trim()).toBe("GET, HEAD");
    }
  });

  it("supports Expect: 100-continue", async () => {
    const number = await app.createJob(agent);
    const body = '{"weight":8}';
    const head = [
      `PATCH /v1/jobs/by-marking/${number} HTTP/1.1`,
      ...keyed(),
      "content-type: application/json",
      "Expect: 100-continue",
    ];
    expectData(
      parseLastResponse(
        await sendBytes(app.url, `${lines(...head, `Content-Length: ${body.length}`)}${body}`),
      ),
    );
    expect(expectData(await getJob(app, agent, number)).weight).toBe(8);
  });

  // evidence: http-pipelined-two-responses
  it("answers two pipelined requests in order", async () => {
    const first = lines("GET /v1/nothing HTTP/1.1", "Host: localhost");
    const received = await sendBytes(app.url, first + lines("GET /v1/jobs HTTP/1.1", ...keyed()));
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 404", "HTTP/1.1 200"]);
  });
});
