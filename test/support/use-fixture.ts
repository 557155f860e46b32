/** Fixtures that live as long as the tests of a file. */
import { afterAll, beforeAll } from "vitest";

/** Opens a fixture before the tests of a file, and disposes it after them. It has its members when the tests run. */
export function useFixture<Fixture extends AsyncDisposable>(open: () => Promise<Fixture>): Fixture {
  const fixture = {} as Fixture;
  beforeAll(async () => void Object.assign(fixture, await open()));
  afterAll(() => fixture[Symbol.asyncDispose]());
  return fixture;
}
