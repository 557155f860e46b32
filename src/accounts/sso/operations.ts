/** The operations of an organisation's single sign-on. */
import { domainToASCII } from "node:url";
import { z } from "zod";
import { type Operation, operation, owner } from "../../operations/operation.ts";
import { none } from "../../operations/schemas.ts";
import type { SsoService } from "./service.ts";

interface Services {
  readonly sso: SsoService;
}

const DOMAIN = /^(?=.{4,253}$)([a-z\d]([a-z\d-]{0,61}[a-z\d])?\.)+[a-z][a-z\d-]*[a-z\d]$/;
const text = (max: number) =>
  z
    .string({ error: "must be a string" })
    .trim()
    .min(1, { error: "must not be empty" })
    .max(max, { error: `must have at most ${max} characters` });

const connection = z.object({
  issuer: text(2_048),
  clientId: text(500),
  clientSecret: text(2_000).optional(),
  domain: text(253)
    .transform((domain) => domainToASCII(domain.toLowerCase()))
    .refine((domain) => DOMAIN.test(domain), { error: "must be a domain, such as company.example" }),
});

/** The provider can sign in as every user of the domain, so each change needs a recent sign-in. */
const ofOwner = { access: owner, fresh: true, params: none } as const;

export const ssoOperations: readonly Operation<Services>[] = [
  operation({
    ...ofOwner,
    name: "setSingleSignOn",
    graphql: { subject: "domain" },
    input: connection,
    async prepare({ sso }, _principal, { issuer }, { external }) {
      if (issuer !== undefined) await external(() => sso.checkIssuer(issuer));
    },
    run: ({ sso }, principal, input) => sso.save(principal, input),
  }),
  operation({
    ...ofOwner,
    name: "verifySingleSignOnDomain",
    prepare: ({ sso }, principal, _input, { external }) => external(() => sso.readProof(principal)),
    run: ({ sso }, principal, _input, { prepared }) => sso.verifyDomain(principal, prepared),
  }),
  operation({
    ...ofOwner,
    name: "removeSingleSignOn",
    run: ({ sso }, principal) => sso.remove(principal),
  }),
];
