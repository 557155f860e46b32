/** Schemas shared by request bodies of `/auth`. */
import { z } from "zod";
import { twoFactorCodeKinds } from "../../accounts/api.ts";

/** Its length is limited by the body. Rules for new passwords are checked where a password is set. */
export const secretText = z.string({ error: "must be a string" }).min(1, { error: "must not be empty" });

/** Spaces between the digits are removed. */
export const codeText = secretText
  .max(40, { error: "must be a code" })
  .transform((code) => code.replaceAll(/\s/g, ""));

export const codeKind = z.enum(twoFactorCodeKinds, { error: `must be ${twoFactorCodeKinds.join(" or ")}` });

export const passwordBody = z.object({ password: secretText });
