/** Users' passkeys, in the schema that better-auth's plugin expects. */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import { User } from "../../organizations/api.ts";

export const UserPasskey = defineEntity({
  name: "UserPasskey",
  tableName: "user_passkey",
  properties: {
    id: p.uuid().primary(),
    user: () => p.manyToOne(User).deleteRule("cascade"),
    name: p.text(),
    /** Base64url, from the authenticator. */
    credentialId: p.text().unique(),
    /** COSE, in base64. */
    publicKey: p.text(),
    /** Of the last sign-in, up to 2^32 - 1; always 0 for a passkey that is synchronised between devices. */
    counter: p.double().$type<number>(),
    deviceType: p.text(),
    backedUp: p.boolean(),
    /** Separated by commas. */
    transports: p.text().nullable(),
    /** Names the model of the authenticator. */
    aaguid: p.text().nullable(),
    createdAt: p.datetime(3).defaultRaw("now()"),
    lastUsedAt: p.datetime(3).nullable(),
  },
  indexes: [{ name: "user_passkey_user", properties: ["user"] }],
});

export type UserPasskey = InferEntity<typeof UserPasskey>;
