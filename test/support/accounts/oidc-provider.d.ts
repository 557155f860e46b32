/** The part of `oidc-provider` that tests use; the package has no types. */
declare module "oidc-provider" {
  import type { RequestListener } from "node:http";

  interface Grant {
    addOIDCScope(scope: string): void;
    save(): Promise<string>;
  }
  interface Context {
    readonly oidc: {
      readonly provider: { readonly Grant: new (of: { clientId: string; accountId: string }) => Grant };
      readonly session?: { readonly accountId?: string };
    };
  }
  interface Configuration {
    clients: { client_id: string; client_secret: string; redirect_uris: string[] }[];
    pkce: { required: () => boolean };
    claims: Record<string, string[]>;
    ttl: Record<string, number>;
    features: { devInteractions: { enabled: boolean } };
    interactions: { url: (context: Context, interaction: { uid: string }) => string };
    findAccount: (context: Context, sub: string) => { accountId: string; claims: () => object };
    loadExistingGrant: (context: Context) => Promise<Grant>;
  }
  export class Provider {
    constructor(issuer: string, configuration: Configuration);
    callback(): RequestListener;
    interactionFinished(...call: [...Parameters<RequestListener>, result: object]): Promise<void>;
  }
}
