import { expect, it } from "vitest";
import { createPublicUrl } from "../../../src/core/public-url.ts";

it("uses PUBLIC_URL if it is set", () => {
  const { pageUrl, setListenUrl } = createPublicUrl("https://api.example.com", {
    host: "0.0.0.0",
    port: 4000,
  });
  setListenUrl("http://0.0.0.0:4000");
  expect(pageUrl("/register#token=x")).toBe("https://api.example.com/register#token=x");
});

it.each([
  ["127.0.0.1", "http://127.0.0.1:0", "http://127.0.0.1:4001"],
  ["0.0.0.0", "http://localhost:0", "http://localhost:4001"],
  ["::", "http://localhost:0", "http://localhost:4001"],
  ["::1", "http://[::1]:0", "http://[::1]:4001"],
])("without PUBLIC_URL uses the URL that the server on %s listens on", (host, before, after) => {
  const { pageUrl, setListenUrl } = createPublicUrl(null, { host, port: 0 });
  expect(pageUrl("/")).toBe(`${before}/`);
  setListenUrl(`http://${host.includes(":") ? `[${host}]` : host}:4001`);
  expect(pageUrl("/")).toBe(`${after}/`);
});
