/** Metrics of password hashing and sign-in. */
import { Counter, type Registry } from "prom-client";

export type AuthMetrics = ReturnType<typeof createAuthMetrics>;

export function createAuthMetrics(registry: Registry) {
  const registers = [registry];
  return {
    passwordHashes: new Counter({
      name: "waymark_password_hashes_total",
      help: "Password hashes computed, to store or to verify a password",
      registers,
    }),
    signInAttempts: new Counter({
      name: "waymark_sign_in_attempts_total",
      help: "Sign-in attempts by outcome: success, invalid_credentials, invalid_code, invalid_passkey",
      labelNames: ["outcome"] as const,
      registers,
    }),
  };
}
