/** Files and environment as the loader sees them; injected, so that tests control them. */
export interface ConfigSurroundings {
  readonly readFile: (path: string) => FileReading;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Resolves a path written in a file, relative to that file's folder. */
  readonly resolvePath: (fromFile: string, path: string) => string;
  readonly ruleSetFile: (name: string) => string;
}

export type FileReading =
  | {
      readonly kind: 'read';
      readonly text: string;
      readonly worldReadable: boolean;
      readonly othersMayWrite: boolean;
    }
  /** `why` completes "got ...": `no such file`. */
  | { readonly kind: 'failed'; readonly why: string };

/** A larger file is neither a config nor a secret. */
export const MAX_FILE_BYTES = 1_048_576;
