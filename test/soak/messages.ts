/** What the processes of a soak say to one another. */
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
  /** By their ids: notices that were handed over for delivery, and those not sent as a later one of their episode went first. */
  | { readonly kind: 'handed' | 'superseded'; readonly id: string }
  | { readonly kind: 'failed'; readonly id: string; readonly why: string }
  | {
      readonly kind: 'sample';
      /** After two collections. */
      readonly heapBytes: number;
      /** Of it, what V8 made of functions that ran: bytecode and machine code. What it learnt of their types is not in it. */
      readonly codeBytes: number;
      readonly residentBytes: number;
      readonly descriptors: number;
      /** Evaluations, and polls that failed, so far. */
      readonly evaluated: number;
      readonly failed: number;
      readonly cpuMs: number;
    }
  | { readonly kind: 'stopped'; readonly inTime: boolean };
