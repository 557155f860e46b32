/** Parts that bodies of `/auth` have in common. */
import { z } from "zod";
import { twoFactorCodeKinds } from "../../accounts/api.ts";

/** Bounded by the body. What it must be like is said where one is chosen. */
export const secretText = z.string({ error: "must be a string" }).min(1, { error: "must not be empty" });

/** People type spaces between the digits. */
export const codeText = secretText
  .max(40, { error: "must be a code" })
  .transform((code) => code.replaceAll(/\s/g, ""));

export const codeKind = z.enum(twoFactorCodeKinds, { error: `must be ${twoFactorCodeKinds.join(" or ")}` });

export const passwordBody = z.object({ password: secretText });
