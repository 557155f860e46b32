/** A transaction whose statements fail: what is claimed to be done is done. */
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { entities } from "../../../src/app/entities.ts";
import { openDatabase, type Database, type Transaction } from "../../../src/platform/postgres/database.ts";
import { raw, sql } from "../../../src/platform/postgres/sql.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database/test-database.ts";

let testDatabase: TestDatabase;
let database: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 2, entities });
  await database.query(raw("create table note (text text unique)"));
});
beforeEach(() => database.query(raw("delete from note")));
afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await testDatabase[Symbol.asyncDispose]();
});

const write = (tx: Pick<Transaction, "query">, text: string): Promise<unknown> =>
  tx.query(sql`insert into note (text) values (${text})`);
const written = async (): Promise<string[]> =>
  (await database.query<{ text: string }>(sql`select text from note order by text`)).map(({ text }) => text);

const failures = [
  ["is refused", (tx: Transaction) => write(tx, "before")],
  [
    "takes too long",
    async (tx: Transaction) => {
      await tx.query(raw("set local statement_timeout = 10"));
      await tx.query(raw("select pg_sleep(10)"));
    },
  ],
  [
    "finds no room on the disk",
    (tx: Transaction) => tx.query(raw("do $$ begin raise 'no space left' using errcode = '53100'; end $$")),
  ],
] as const;

// evidence: transaction-savepoint-rolls-back-alone
it.each(failures)(
  "a nested part that %s undoes itself, and what stands around it is done",
  async (_, fail) => {
    await database.transaction(async (tx) => {
      await write(tx, "before");
      await tx
        .nested(async () => {
          await write(tx, "within");
          await fail(tx);
        })
        .catch(() => undefined);
      await write(tx, "after");
    });
    expect(await written()).toEqual(["after", "before"]);
  },
);

// evidence: transaction-statement-failure-rolls-back
it.each(failures)("one whose statement %s is not told as done where nobody minded", async (_, fail) => {
  const claimed = database.transaction(async (tx) => {
    await write(tx, "before");
    await fail(tx).catch(() => undefined);
    return "done";
  });
  await expect(claimed).rejects.toThrow("was not committed");
  expect(await written()).toEqual([]);
});

it.each([
  ["in place of its next statement", (tx: Transaction) => write(tx, "late")],
  ["in place of its commit", () => Promise.resolve()],
])("a transaction past its time limit is rolled back, %s", async (_, last) => {
  const options = { url: testDatabase.url, poolSize: 1, entities, transactionLimitMs: 100 };
  await using limited = await openDatabase(options);
  const transaction = limited.transaction(async (tx) => {
    await write(tx, "early");
    await tx.query(raw("select pg_sleep(0.1)"));
    await last(tx);
  });
  await expect(transaction).rejects.toMatchObject({ code: "ServiceUnavailableException" });
  expect(await written()).toEqual([]);
});

it.each(["transaction", "tryTransaction"] as const)(
  "%s calls back after its commit, and not after a rollback or a failure",
  async (how) => {
    const seen: string[][] = [];
    const run = (text: string, end: "commit" | "rollback", fail = false) => {
      const work = async (tx: Transaction): Promise<void> => {
        tx.afterCommit(() => seen.push([text]));
        await write(tx, text);
        expect(seen.flat()).not.toContain(text);
        if (fail) throw new Error("failed on purpose");
      };
      return how === "transaction" ? database.transaction(work, end) : database.tryTransaction(1n, work, end);
    };
    await run("kept", "commit");
    await run("undone", "rollback");
    await expect(run("failed", "commit", true)).rejects.toThrow("on purpose");
    expect(seen).toEqual([["kept"]]);
    expect(await written()).toEqual(["kept"]);
  },
);

it("a nested part that ends in a rollback undoes itself, and what stands around it is done", async () => {
  await database.transaction(async (tx) => {
    await write(tx, "before");
    const result = await tx.nested(
      async () => {
        await write(tx, "within");
        return "result";
      },
      (known) => (known === "result" ? "rollback" : "commit"),
    );
    await write(tx, result);
  });
  expect(await written()).toEqual(["before", "result"]);
});

it("a transaction for a lock runs nothing and does not wait while another holds that lock", async () => {
  const lock = -(2n ** 63n);
  const other = vi.fn<() => Promise<string>>(() => Promise.resolve("ran"));
  const answered = await database.tryTransaction(lock, async (tx) => {
    await write(tx, "first");
    expect(await database.tryTransaction(lock, other)).toBeNull();
    expect(await database.tryTransaction(lock + 1n, other)).toBe("ran");
    return "done";
  });
  expect(answered).toBe("done");
  expect(other).toHaveBeenCalledOnce();
  expect(await database.tryTransaction(lock, other)).toBe("ran");
  expect(database.pool()).toMatchObject({ idle: 2, waiting: 0 });
});
