/** Creates the demo's users: an owner of its first agent, an owner of its first contractor, and an operator. */
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { createPasswordHasher, UserService } from "../../accounts/api.ts";
import type { UserRole } from "../../organizations/api.ts";
import type { Database, Queryable, Reader } from "../../core/postgres/database.ts";
import { sql } from "../../core/postgres/sql.ts";

const demoLoginSchema = z.object({
  email: z.string(),
  /** Null if the password was changed or its file was lost. */
  password: z.string().nullable(),
});
export type DemoLogin = z.infer<typeof demoLoginSchema>;

export type DemoRole = "agent" | "contractor" | "operator";
export type DemoLogins = Record<DemoRole, DemoLogin>;

interface DemoUser {
  name: string;
  role: UserRole;
  /** A uuid; null for the operator. */
  organizationId: string | null;
}

interface DemoLoginDeps {
  database: Database;
  /** Folder that stores the passwords, because the database contains only their hashes. */
  dataDir: string;
}

/** Waits while another process creates the demo, which can take longer than `lock_timeout`. Holds the lock until `tx` ends. */
export async function lockDemo(tx: Queryable): Promise<void> {
  await tx.query(sql`
    select pg_advisory_xact_lock(hashtext('waymark.demo')) from set_config('lock_timeout', '0', true)`);
}

/** Creates missing users, and returns the logins of all three. */
export async function ensureDemoLogins(
  { database, dataDir }: DemoLoginDeps,
  organizations: { agent: string; contractor: string },
): Promise<DemoLogins> {
  const demoUsers: Record<DemoRole, DemoUser> = {
    agent: { name: "Demo agent", role: "owner", organizationId: organizations.agent },
    contractor: { name: "Demo contractor", role: "owner", organizationId: organizations.contractor },
    operator: { name: "Demo operator", role: "operator", organizationId: null },
  };
  const users = new UserService({ database, hasher: createPasswordHasher(() => undefined) });
  const file = join(dataDir, "demo-logins.json");
  return await database.transaction(async (tx) => {
    await lockDemo(tx);
    const stored = await readEntries(file, demoLoginSchema);
    const loginOf = (role: DemoRole): Promise<DemoLogin> =>
      ensureLogin({ tx, users, stored: stored[role] }, emailOf(role), demoUsers[role]);
    const logins = {
      agent: await loginOf("agent"),
      contractor: await loginOf("contractor"),
      operator: await loginOf("operator"),
    };
    await writeEntries(file, logins);
    return logins;
  });
}

function emailOf(role: DemoRole): string {
  return `${role}@waymark.example`;
}

async function ensureLogin(
  { tx, users, stored }: { tx: Reader; users: UserService; stored: DemoLogin | undefined },
  email: string,
  user: DemoUser,
): Promise<DemoLogin> {
  const [existing] = await tx.query<{ id: string }>(sql`select id from user_account where email = ${email}`);
  if (existing) {
    const password = stored?.password ?? null;
    const isCurrent = password !== null && (await users.verifyPasswordHash(tx, existing.id, password));
    return { email, password: isCurrent ? password : null };
  }
  const password = newPassword();
  await users.createUser(tx, { ...user, email, password });
  return { email, password };
}

/** Returns 80 random bits in Crockford's base32, which has no letters that look like digits. */
function newPassword(): string {
  const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
  const letters = Array.from(randomBytes(16), (byte) => alphabet[byte & 31]).join("");
  return letters.replace(/(.{4})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4");
}

/** Returns the valid entries of `file`; an empty object if it is missing or damaged. */
export async function readEntries<Entry>(
  file: string,
  entry: z.ZodType<Entry>,
): Promise<Partial<Record<string, Entry>>> {
  try {
    return z
      .record(z.string(), entry.optional().catch(undefined))
      .parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    return {};
  }
}

/** Overwrites the file; mode 0600 for a new file. */
export async function writeEntries(file: string, entries: object): Promise<void> {
  await writeFile(file, `${JSON.stringify(entries, null, 2)}\n`, { mode: 0o600 });
}
