/** Transactions whose statements fail, nested parts, time limits and advisory locks. */
import type { EntityManager } from "@mikro-orm/postgresql";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { entities } from "../../../src/app/entities.ts";
import { Organization } from "../../../src/organizations/api.ts";
import { newUuid } from "../../../src/core/ids.ts";
import { openDatabase, type Database } from "../../../src/core/postgres/database.ts";
import type { Transaction } from "../../../src/core/postgres/transaction.ts";
import { raw, sql } from "../../../src/core/postgres/sql.ts";
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
  ["violates a constraint", (tx: Transaction) => write(tx, "before")],
  [
    "times out",
    async (tx: Transaction) => {
      await tx.query(raw("set local statement_timeout = 10"));
      await tx.query(raw("select pg_sleep(10)"));
    },
  ],
  [
    "finds the disk full",
    (tx: Transaction) => tx.query(raw("do $$ begin raise 'no space left' using errcode = '53100'; end $$")),
  ],
] as const;

// evidence: transaction-savepoint-rolls-back-alone
it.each(failures)("rolls back only the nested part if its statement %s", async (_, fail) => {
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
});

// evidence: transaction-statement-failure-rolls-back
it.each(failures)("rejects at commit if a statement %s and its error was ignored", async (_, fail) => {
  const transaction = database.transaction(async (tx) => {
    await write(tx, "before");
    await fail(tx).catch(() => undefined);
    return "done";
  });
  await expect(transaction).rejects.toThrow("rolled a transaction back on commit");
  expect(await written()).toEqual([]);
});

it.each([
  ["its next statement", (tx: Transaction) => write(tx, "late")],
  ["its commit", () => Promise.resolve()],
])("rolls back a transaction past its time limit at %s", async (_, last) => {
  const now = vi.spyOn(performance, "now");
  onTestFinished(() => now.mockRestore());
  const transaction = database.transaction(async (tx) => {
    await write(tx, "early");
    now.mockReturnValue(performance.now() + 31_000);
    await last(tx);
  });
  await expect(transaction).rejects.toMatchObject({ code: "ServiceUnavailableException" });
  expect(await written()).toEqual([]);
});

it.each(["transaction", "tryTransaction"] as const)(
  "%s calls afterCommit callbacks only after a commit",
  async (method) => {
    const committed: string[] = [];
    const run = (text: string, end: "commit" | "rollback", fail = false) => {
      const work = async (tx: Transaction): Promise<void> => {
        tx.afterCommit(() => committed.push(text));
        await write(tx, text);
        expect(committed).not.toContain(text);
        if (fail) throw new Error("failed on purpose");
      };
      return method === "transaction"
        ? database.transaction(work, end)
        : database.tryTransaction(1n, work, end);
    };
    await run("kept", "commit");
    await run("undone", "rollback");
    await expect(run("failed", "commit", true)).rejects.toThrow("on purpose");
    expect(committed).toEqual(["kept"]);
    expect(await written()).toEqual(["kept"]);
  },
);

it("commits the transaction around a nested part whose outcome is a rollback", async () => {
  await database.transaction(async (tx) => {
    await write(tx, "before");
    const result = await tx.nested(
      async () => {
        await write(tx, "within");
        return "result";
      },
      (nestedResult) => (nestedResult === "result" ? "rollback" : "commit"),
    );
    await write(tx, result);
  });
  expect(await written()).toEqual(["before", "result"]);
});

it("tryTransaction returns null without waiting while another transaction holds the lock", async () => {
  const lock = -(2n ** 63n);
  const other = vi.fn<() => Promise<string>>(() => Promise.resolve("ran"));
  const result = await database.tryTransaction(lock, async (tx) => {
    await write(tx, "first");
    expect(await database.tryTransaction(lock, other)).toBeNull();
    expect(await database.tryTransaction(lock + 1n, other)).toBe("ran");
    return "done";
  });
  expect(result).toBe("done");
  expect(other).toHaveBeenCalledOnce();
  expect(await database.tryTransaction(lock, other)).toBe("ran");
  expect(database.pool()).toMatchObject({ idle: 2, waiting: 0 });
});

const addOrganization = (em: EntityManager, name: string): void =>
  void em.persist(
    em.create(Organization, {
      id: newUuid(),
      name,
      type: "agent",
      suspendedAt: null,
      createdAt: new Date(),
    }),
  );
const names = async (): Promise<string[]> =>
  (await database.em().find(Organization, {}, { orderBy: { name: "asc" } })).map(({ name }) => name);

const fail = (): Promise<never> => Promise.reject(new Error("failed on purpose"));

describe("transactional", () => {
  beforeEach(() => database.em().nativeDelete(Organization, {}));

  it("flushes before each SQL statement and before the commit", async () => {
    await database.transactional(async (em, tx) => {
      addOrganization(em, "first");
      expect(await tx.query(sql`select name from organization`)).toEqual([{ name: "first" }]);
      expect(await names()).toEqual([]);
      addOrganization(em, "second");
    });
    expect(await names()).toEqual(["first", "second"]);
  });

  it("commits nothing if the work throws or the outcome is a rollback", async () => {
    const failing = database.transactional(async (em) => {
      addOrganization(em, "lost");
      await em.flush();
      await fail();
    });
    await expect(failing).rejects.toThrow("on purpose");
    await database.transaction(async (tx) => addOrganization(tx.em(), "lost"), "rollback");
    expect(await names()).toEqual([]);
  });

  it("rolls back only a nested em.transactional or nested part that fails", async () => {
    await database.transactional(async (em, tx) => {
      addOrganization(em, "before");
      await em.flush();
      const failed = em.transactional(async (inner) => {
        addOrganization(inner, "within");
        await inner.flush();
        await fail();
      });
      await expect(failed).rejects.toThrow("on purpose");
      const alsoFailed = tx.nested(async () => {
        addOrganization(em, "nested");
        await fail();
      });
      await expect(alsoFailed).rejects.toThrow("on purpose");
      await em.transactional(async (inner) => addOrganization(inner, "kept"));
    });
    expect(await names()).toEqual(["before", "kept"]);
  });
});

it("cancels the entity manager's running statement when the signal aborts", async () => {
  const aborting = new AbortController();
  const sleeping = database.withSignal(aborting.signal).em().execute("select pg_sleep(20)");
  await expect.poll(sleepers).toBe(1);
  aborting.abort();
  await expect(sleeping).rejects.toMatchObject({
    code: "ServiceUnavailableException",
    cause: { code: "57014" },
  });
  await expect.poll(sleepers).toBe(0);
});

async function sleepers(): Promise<number> {
  const rows = await database.query(
    sql`select from pg_stat_activity
      where datname = current_database() and query = 'select pg_sleep(20)' and state = 'active'`,
  );
  return rows.length;
}
