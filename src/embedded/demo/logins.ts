/** The demo's people: an owner of its first agent, one of its first contractor, and an operator, each with a made-up password. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { z } from "zod";
import { createPasswordHasher, createUserService, type UserService } from "../../accounts/api.ts";
import type { UserRole } from "../../organizations/api.ts";
import type { Database, Queryable } from "../../platform/postgres/database.ts";
import { sql } from "../../platform/postgres/sql.ts";
import { writeEntries, readEntries } from "./store.ts";

const demoLoginSchema = z.object({
  email: z.string(),
  /** Null: it was changed since, and only who changed it knows it. */
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
  /** Where the passwords are kept, so that they can be shown again: the database has only their hashes. */
  dataDir: string;
}

/** Makes whoever is missing, and answers with how all of them sign in. */
export async function ensureDemoLogins(
  { database, dataDir }: DemoLoginDeps,
  organizations: { agent: string; contractor: string },
): Promise<DemoLogins> {
  const demoUsers: Record<DemoRole, DemoUser> = {
    agent: { name: "Demo agent", role: "owner", organizationId: organizations.agent },
    contractor: { name: "Demo contractor", role: "owner", organizationId: organizations.contractor },
    operator: { name: "Demo operator", role: "operator", organizationId: null },
  };
  const users = createUserService({ hasher: createPasswordHasher(() => undefined) });
  const file = join(dataDir, "demo-logins.json");
  return await database.transaction(async (tx) => {
    await tx.query(sql`select pg_advisory_xact_lock(hashtext('waymark.demo'))`);
    const stored = await readEntries(file, demoLoginSchema);
    const loginOf = (role: DemoRole): Promise<DemoLogin> =>
      ensureLogin({ tx, users, kept: stored[role] }, emailOf(role), demoUsers[role]);
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
  { tx, users, kept }: { tx: Queryable; users: UserService; kept: DemoLogin | undefined },
  email: string,
  user: DemoUser,
): Promise<DemoLogin> {
  const [existing] = await tx.query<{ id: string }>(sql`select id from user_account where email = ${email}`);
  if (existing) {
    const password = kept?.password ?? null;
    const isGood = password !== null && (await users.verifyPasswordHash(tx, existing.id, password));
    return { email, password: isGood ? password : null };
  }
  const password = newPassword();
  await users.createUser(tx, { ...user, email, password });
  return { email, password };
}

/** 80 random bits, in Crockford's base32: no letter is mistaken for a digit. */
function newPassword(): string {
  const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
  const letters = Array.from(randomBytes(16), (byte) => alphabet[byte & 31]).join("");
  return letters.replace(/(.{4})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4");
}
