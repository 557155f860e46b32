/** An organisation's connection to its own identity provider. At most one per organisation. */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import { Organization } from "../../organizations/api.ts";

export const SsoConnection = defineEntity({
  name: "SsoConnection",
  tableName: "sso_connection",
  properties: {
    organization: () => p.manyToOne(Organization).primary().deleteRule("cascade"),
    /** The issuer's URL, exactly as its discovery document and ID tokens have it. */
    issuer: p.text(),
    clientId: p.text(),
    /** Sealed by the SecretBox, for the context `sso_connection:ORGANIZATION`. */
    clientSecret: p.text(),
    /** Lower case. Users are found by the domain of their e-mail address. */
    domain: p.text(),
    /** The token of the TXT record that proves the domain. */
    verificationToken: p.text(),
    /** When the domain was proven; null: the connection signs no user in yet. */
    verifiedAt: p.datetime(3).nullable(),
    createdAt: p.datetime(3).defaultRaw("now()"),
    updatedAt: p.datetime(3).defaultRaw("now()"),
  },
  uniques: [{ name: "sso_connection_domain", properties: ["domain"], where: "verified_at is not null" }],
});

export type SsoConnection = InferEntity<typeof SsoConnection>;
