/** A passkey in software: answers the server's options like an authenticator, so that a test can choose what it says. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { expectData } from "../app/assertions.ts";
import type { ApiResponse } from "../app/app-instance.ts";
import type { SessionClient } from "./session-client.ts";

const PRESENT = 0x01;
const VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;

export interface Ceremony {
  /** False: no PIN was entered. */
  isVerified?: boolean;
  counter?: number;
  origin?: string;
  rpId?: string;
  /** Signs in place of this passkey. */
  signer?: { privateKey: KeyObject };
}

export function createPasskey(url: string) {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  const credentialId = randomBytes(32);
  const id = credentialId.toString("base64url");
  const clientData = (type: string, challenge: string, { origin = url }: Ceremony): Buffer =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  const authenticatorData = (
    flags: number,
    { isVerified = true, counter = 0, rpId = new URL(url).hostname }: Ceremony,
  ): Buffer => {
    const data = Buffer.alloc(37);
    createHash("sha256").update(rpId).digest().copy(data);
    data[32] = flags | PRESENT | (isVerified ? VERIFIED : 0);
    data.writeUInt32BE(counter, 33);
    return data;
  };
  const answer = (response: Record<string, Buffer>) => ({
    id,
    rawId: id,
    type: "public-key",
    clientExtensionResults: {},
    response: Object.fromEntries(
      Object.entries(response).map(([name, bytes]) => [name, bytes.toString("base64url")]),
    ),
  });
  // CBOR: {1: 2, 3: -7, -1: 1, -2: x, -3: y}
  const coseKey = Buffer.concat([
    Buffer.from("a5010203262001215820", "hex"),
    Buffer.from(x, "base64url"),
    Buffer.from("225820", "hex"),
    Buffer.from(y, "base64url"),
  ]);
  return {
    id,
    privateKey,
    attest(challenge: string, ceremony: Ceremony = {}) {
      const data = Buffer.concat([
        authenticatorData(HAS_CREDENTIAL, ceremony),
        Buffer.alloc(16),
        Buffer.from([0, credentialId.length]),
        credentialId,
        coseKey,
      ]);
      // CBOR: {"fmt": "none", "attStmt": {}, "authData": data}
      const attestationObject = Buffer.concat([
        Buffer.from("a363666d74646e6f6e656761747453746d74a068617574684461746158", "hex"),
        Buffer.from([data.length]),
        data,
      ]);
      const clientDataJSON = clientData("webauthn.create", challenge, ceremony);
      return answer({ attestationObject, clientDataJSON });
    },
    assert(challenge: string, ceremony: Ceremony = {}) {
      const data = authenticatorData(0, ceremony);
      const clientDataJSON = clientData("webauthn.get", challenge, ceremony);
      const signed = Buffer.concat([data, createHash("sha256").update(clientDataJSON).digest()]);
      return answer({
        authenticatorData: data,
        clientDataJSON,
        signature: sign("sha256", signed, (ceremony.signer ?? { privateKey }).privateKey),
      });
    },
  };
}

export type TestPasskey = ReturnType<typeof createPasskey>;

export async function addPasskey(
  client: SessionClient,
  passkey: TestPasskey,
  { name = "Laptop", ...ceremony }: Ceremony & { name?: string } = {},
): Promise<ApiResponse> {
  const options = await client.get("/auth/passkey/generate-register-options");
  if (options.status !== 200) return options;
  const response = passkey.attest(expectData(options).challenge, ceremony);
  return await client.post("/auth/passkey/verify-registration", { name, response });
}

export async function signInWithPasskey(
  client: SessionClient,
  passkey: TestPasskey,
  ceremony: Ceremony = {},
): Promise<ApiResponse> {
  const { challenge } = expectData(await client.get("/auth/passkey/generate-authenticate-options"));
  const response = passkey.assert(challenge, ceremony);
  return await client.post("/auth/passkey/verify-authentication", { response });
}
