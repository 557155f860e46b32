/** The clients and starter kits that the build packs and the server offers at `/sdk`. */

/** Written by the build next to the files that it lists. */
export const SDK_INDEX_FILE = "index.json";

export interface SdkFile {
  file: string;
  /** In hexadecimal. */
  sha256: string;
  /** In bytes. */
  size: number;
}

export interface SdkClient extends SdkFile {
  language: "typescript" | "python";
  /** The name of the package. */
  name: string;
  /** The version of the product. */
  version: string;
  /** A name without version that redirects to `file`, for clients whose file needs a version in its name. */
  alias?: string;
}

export interface SdkIndex {
  clients: SdkClient[];
  /** One archive with a folder for each starter kit. */
  starter_kits: SdkFile;
}
