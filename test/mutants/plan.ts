/** What the command and the process that runs the tests tell each other, as files. */

export interface Plan {
  /** Lines of `Line` are appended to it. */
  readonly journal: string;
  /** In the order in which they are tried: a test file, and the mutants to try it on while they live. */
  readonly steps: readonly Step[];
  /** What is known of test files from an earlier process. */
  readonly known: readonly Extract<Line, { readonly about: 'file' }>[];
}

interface Step {
  readonly file: string;
  readonly mutants: readonly number[];
}

export type Line =
  | { readonly about: 'process'; readonly pid: number }
  /** A test file was run without a mutant. */
  | {
      readonly about: 'file';
      readonly file: string;
      readonly ms: number;
      /** How often it came by each mutant's place. */
      readonly hits: Readonly<Record<number, Hits>>;
      /** What failed although nothing was changed; such a file says nothing about mutants. */
      readonly failed: string | null;
    }
  | {
      readonly about: 'start';
      readonly mutant: number | null;
      readonly file: string;
      /** When it is taken for hanging. */
      readonly limitMs: number;
    }
  | {
      readonly about: 'end';
      readonly mutant: number;
      readonly file: string;
      readonly killedBy: string | null;
    };

export interface Hits {
  count: number;
  /** Ids of the tests that come by; `null`: not only tests do. */
  tests: string[] | null;
}

/** In the environment of the process that runs the tests: the path of its plan. */
export const PLAN_VARIABLE = 'BREAKWATER_MUTANTS_PLAN';
