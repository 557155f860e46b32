/** better-auth's passkeys on our table. Each must verify its user, so that it counts as two-factor (docs/decisions/0084). */
import { passkey } from "@better-auth/passkey";
import { APIError } from "better-auth/api";
import { authRequest } from "../auth/auth-request.ts";

/** The plugin itself also accepts a passkey that only proves the presence of a person. */
function requireUserVerified(isVerified: boolean | undefined): void {
  if (isVerified) return;
  throw new APIError("UNAUTHORIZED", {
    code: "USER_NOT_VERIFIED",
    message: "Your device must check who you are: by fingerprint, face or PIN",
  });
}

const table = { modelName: "user_passkey" };

/** The RP ID and the origin are those of PUBLIC_URL, or else of the request. */
export const passkeyPlugin = passkey({
  authenticatorSelection: { residentKey: "required", userVerification: "required" },
  advanced: { webAuthnChallengeCookie: "passkey" },
  registration: {
    afterVerification: ({ verification }) => requireUserVerified(verification.registrationInfo?.userVerified),
  },
  authentication: {
    afterVerification: ({ verification }) =>
      requireUserVerified(verification.authenticationInfo.userVerified),
  },
  schema: { passkey: { ...table, fields: { credentialID: "credentialId" } } },
});

/** Our column, which the list of passkeys returns too. */
export const passkeySchema = {
  passkey: {
    ...table,
    fields: {
      lastUsedAt: {
        type: "date",
        required: false,
        input: false,
        // With the counter of a sign-in. A signed-in user renames it.
        onUpdate: () => (authRequest().principal ? undefined : new Date()) as Date,
      },
    },
  },
} as const;
