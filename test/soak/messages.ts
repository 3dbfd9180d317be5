/** Messages between the processes of a soak. */
export type ExchangeQuestion = 'figures' | 'close';

export type ExchangeAnswer =
  | {
      readonly kind: 'open';
      readonly baseUrls: readonly string[];
      readonly keys: readonly { readonly id: string; readonly apiKey: string; readonly apiSecret: string }[];
    }
  | {
      readonly kind: 'figures';
      /** Orders of the daemon so far; those that were not reduce-only, or opened something; accounts liquidated. */
      readonly placed: number;
      readonly opening: number;
      readonly liquidated: number;
    };

export type DaemonQuestion = 'sample' | 'stop';

export type DaemonAnswer =
  | { readonly kind: 'watching' }
  /** By id: notices handed over for delivery, and those not sent because a later one of their episode went first. */
  | { readonly kind: 'handed' | 'superseded'; readonly id: string }
  | { readonly kind: 'failed'; readonly id: string; readonly why: string }
  | {
      readonly kind: 'sample';
      /** After two collections. */
      readonly heapBytes: number;
      /** The part that V8 uses for code of functions that ran: bytecode and machine code, without type feedback. */
      readonly codeBytes: number;
      readonly residentBytes: number;
      readonly descriptors: number;
      /** Evaluations and failed polls so far. */
      readonly evaluated: number;
      readonly failed: number;
      readonly cpuMs: number;
    }
  | { readonly kind: 'stopped'; readonly inTime: boolean };
