/** Passkeys, in the browser's own JSON form of WebAuthn. */
import { api } from "../api/client.ts";

export interface Passkey {
  id: string;
  name: string;
  credentialID: string;
  createdAt: string;
  lastUsedAt: string | null;
}

/** The browser didn't return a passkey. `message` can be shown to users. */
export class PasskeyError extends Error {
  override readonly name = "PasskeyError";
}

const messages: Readonly<Record<string, string>> = {
  InvalidStateError: "This device already has a passkey for your account.",
  NotAllowedError: "You cancelled, or it took too long. Try again.",
  SecurityError: "Passkeys need https and a domain name, or http://localhost.",
};

/** False for an old browser, and over plain http. */
export function supportsPasskeys(): boolean {
  return typeof PublicKeyCredential === "function" && "parseCreationOptionsFromJSON" in PublicKeyCredential;
}

export function listPasskeys(): Promise<Passkey[]> {
  return api.get("auth/passkey/list-user-passkeys");
}

export async function addPasskey(name: string): Promise<void> {
  const path = "auth/passkey/generate-register-options";
  const options = await api.get<PublicKeyCredentialCreationOptionsJSON>(path);
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const response = await toJson(navigator.credentials.create({ publicKey }));
  await api.post("auth/passkey/verify-registration", { name, response });
}

/** Signs in, or confirms the user's identity. `only`: the passkeys that the browser offers; empty: all of this site. */
export async function signInWithPasskey(only: readonly Passkey[] = []): Promise<void> {
  const path = "auth/passkey/generate-authenticate-options";
  const options = await api.anonymous.get<PublicKeyCredentialRequestOptionsJSON>(path);
  const allowCredentials = only.map(({ credentialID: id }) => ({ id, type: "public-key" }));
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON({ ...options, allowCredentials });
  const response = await toJson(navigator.credentials.get({ publicKey }));
  await api.anonymous.post("auth/passkey/verify-authentication", { response });
}

async function toJson(prompt: Promise<Credential | null>): Promise<unknown> {
  try {
    return ((await prompt) as PublicKeyCredential).toJSON();
  } catch (error) {
    const { name, message } = error as Error;
    throw new PasskeyError(messages[name] ?? message, { cause: error });
  }
}
