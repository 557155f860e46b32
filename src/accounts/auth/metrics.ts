/** The figures of signing in. */
import { Counter, type Registry } from "prom-client";

export interface AuthMetrics {
  readonly passwordHashes: Counter;
  readonly signInAttempts: Counter<"outcome">;
}

export function createAuthMetrics(registry: Registry): AuthMetrics {
  const registers = [registry];
  return {
    passwordHashes: new Counter({
      name: "waymark_password_hashes_total",
      help: "Passwords that were hashed, to be kept or to be compared",
      registers,
    }),
    signInAttempts: new Counter({
      name: "waymark_sign_in_attempts_total",
      help: "Tries to sign in, by what became of them",
      labelNames: ["outcome"] as const,
      registers,
    }),
  };
}
