/** The clients and starter kits that the build packs and the server offers at `/sdk`. */
import { pythonVersion } from "./python-version.ts";

/** Written by the build next to the files that it lists. */
export const SDK_INDEX_FILE = "index.json";

/** Names without a version. Each redirects to the package of the current version. */
export const SDK_ALIASES = { typescript: "waymark-client.tgz", python: "waymark_client.whl" } as const;

export type SdkLanguage = keyof typeof SDK_ALIASES;

export interface SdkFile {
  file: string;
  /** In hexadecimal. */
  sha256: string;
  /** In bytes. */
  size: number;
  /** True if the file never changes. Otherwise it comes from sources that are not released. */
  released?: boolean;
}

export interface SdkClient extends SdkFile {
  language: SdkLanguage;
  name: string;
  version: string;
  released: boolean;
  /** A name without version that redirects to `file`. Only the current version has it. */
  alias?: string;
}

export interface SdkIndex {
  /** The current version. */
  clients: SdkClient[];
  /** Newest first. */
  older_clients: SdkClient[];
  /** One archive with a folder for each starter kit. */
  starter_kits: SdkFile;
}

export function packageFiles(version: string): Record<SdkLanguage, string> {
  return {
    typescript: `waymark-client-${version}.tgz`,
    python: `waymark_client-${pythonVersion(version)}-py3-none-any.whl`,
  };
}
