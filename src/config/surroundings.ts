/** What the loader may touch: files and environment, handed in so that tests own them. */
export interface ConfigSurroundings {
  readonly readFile: (path: string) => FileReading;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A path written in a file, relative to that file's folder. */
  readonly resolvePath: (fromFile: string, path: string) => string;
  /** Where the file of a ready-made rule set lies. */
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

/** Larger ones are neither configs nor secrets. */
export const MAX_FILE_BYTES = 1_048_576;
