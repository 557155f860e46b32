/** Reads the services of docker-compose.yml and the environment of the Dockerfile. */
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parse } from "yaml";

export interface ComposeService {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** The image's environment, overridden by the service's. */
  readonly environment: Readonly<Record<string, string>>;
}

export type ServiceName = "api" | "worker" | "migrate" | "mongodb";

interface ComposeFile {
  services: Record<ServiceName, { build?: string; command: string[]; environment?: Record<string, string> }>;
}

export const projectRoot = resolve(import.meta.dirname, "../..");

/**
 * Reads the four services. `variables` are the shell variables that the file refers to, such as WAYMARK_SECRET; throws if a
 * required one is missing.
 */
export async function readCompose(
  variables: Readonly<Record<string, string>>,
): Promise<Record<ServiceName, ComposeService>> {
  const [compose, dockerfile] = await Promise.all(
    ["docker-compose.yml", "Dockerfile"].map((name) => readFile(join(projectRoot, name), "utf8")),
  );
  const { services } = parse(compose ?? "", { merge: true }) as ComposeFile;
  const ofImage = environmentOf(dockerfile ?? "");
  const read = (name: ServiceName): ComposeService => {
    const { build, command, environment = {} } = services[name];
    const own = Object.entries(environment).map(
      ([key, value]) => [key, interpolate(value, variables)] as const,
    );
    return { command, environment: { ...(build && ofImage), ...Object.fromEntries<string>(own) } };
  };
  return { api: read("api"), worker: read("worker"), migrate: read("migrate"), mongodb: read("mongodb") };
}

/** Replaces `${NAME}`, `${NAME:-default}` and `${NAME:?error message}`. */
function interpolate(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, kind: string, rest: string) => {
    const value = variables[name] ?? "";
    if (value === "" && kind === "?") throw new Error(`docker-compose.yml needs ${name}: ${rest}`);
    return value === "" && kind === "-" ? rest : value;
  });
}

/** Returns the ENV of the last stage, which becomes the image. */
function environmentOf(dockerfile: string): Record<string, string> {
  const stage = dockerfile.slice(dockerfile.lastIndexOf("\nFROM "));
  const [, line = ""] = /^ENV (.+)$/m.exec(stage) ?? [];
  return Object.fromEntries(line.split(" ").map((pair) => pair.split("=") as [string, string]));
}
