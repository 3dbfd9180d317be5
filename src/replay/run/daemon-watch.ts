import type { AuditEvent, AuditKind } from '../../core/audit/audit-event.ts';
import type { DaemonEvent, Telemetry } from '../../core/ports/telemetry.ts';
import type { Transition } from '../../core/rules/decision.ts';
import type { Evaluation } from '../../core/rules/evaluate.ts';
import type { SubjectKey } from '../../core/rules/subject.ts';
import type { ReplayEvent, RuleBand, RuleState } from '../record.ts';

interface OpenBand {
  readonly ruleId: string;
  readonly subject: SubjectKey;
  words: string;
  readonly spans: { fromMs: number; toMs: number; state: RuleState }[];
  /** The span that is not over yet. */
  open: { readonly fromMs: number; readonly state: RuleState } | undefined;
}

type Watched = ReturnType<typeof nothingSeen>;

function nothingSeen() {
  return {
    bands: new Map<string, OpenBand>(),
    events: [] as ReplayEvent[],
    /** Why an intent was opened, by its key. */
    because: new Map<string, string>(),
    /** Why an order was sent, by its client order id. */
    reasons: new Map<string, string>(),
    /** Client order ids of orders that reduce, other than standing stops. */
    reductions: new Set<string>(),
    /** Unix milliseconds since when the condition of a rule that reduces has been seen to hold. */
    holdsSinceMs: undefined as number | undefined,
  };
}

const TITLES: Readonly<Partial<Record<AuditKind, string>>> = {
  targetSet: 'Target',
  intentEnded: 'Reduction ended',
  intentRenewed: 'Reduction renewed',
  refused: 'Held back',
  blocked: 'Cannot act',
  overshoot: 'Closed more than asked',
  cancelling: 'Cancels',
  wouldPlace: 'Would place',
  wouldCancel: 'Would cancel',
  coverTriggered: 'Standing stop triggered',
  rejected: 'Refused by the exchange',
  unknown: 'Outcome not known',
};

/** Follows a daemon's telemetry: states, decisions and reasons of its rules, by account. */
export class DaemonWatch implements Telemetry {
  readonly #accounts = new Map<string, Watched>();
  /** Name of a position or loan for people. */
  readonly #nameOf: (accountId: string, subject: SubjectKey) => string;
  /** Whether a rule of an account reduces. */
  readonly #reduces: (accountId: string, ruleId: string) => boolean;

  constructor(
    nameOf: (accountId: string, subject: SubjectKey) => string,
    reduces: (accountId: string, ruleId: string) => boolean,
  ) {
    this.#nameOf = nameOf;
    this.#reduces = reduces;
  }

  emit(event: DaemonEvent): void {
    if (event.kind === 'evaluated') this.#judge(event.accountId, event.evaluation, event.snapshot.at.wallMs);
    else if (event.kind === 'audited') this.#record(event.event);
  }

  /** Bands of the rules for which anything happened. */
  bands(accountId: string, endMs: number): readonly RuleBand[] {
    return [...this.of(accountId).bands.values()].flatMap((band) => {
      close(band, endMs);
      const { ruleId, words, spans } = band;
      const subject = this.#nameOf(accountId, band.subject);
      return spans.length === 0 ? [] : [{ ruleId, subject, words, spans }];
    });
  }

  #judge(accountId: string, { transitions, decisions }: Evaluation, atMs: number): void {
    const watched = this.of(accountId);
    for (const transition of transitions) this.#step(accountId, watched, transition);
    for (const { ruleId, subject, reason } of decisions) {
      const isFrozen = reason === 'frozenByUnknown';
      const band = watched.bands.get(`${ruleId} ${subject}`);
      if (band === undefined && !isFrozen) continue;
      const known = band ?? bandOf(watched, ruleId, subject);
      if (isFrozen && known.open?.state !== 'frozen') open(known, atMs, 'frozen');
      else if (!isFrozen && known.open?.state === 'frozen') close(known, atMs);
    }
  }

  #step(accountId: string, watched: Watched, transition: Transition): void {
    const { ruleId, subject, from, to, atMs, words, mode } = transition;
    const band = bandOf(watched, ruleId, subject);
    if (to !== 'inactive') band.words = words;
    if (to === 'inactive') close(band, atMs);
    else if (to !== from) open(band, atMs, to);
    if (this.#reduces(accountId, ruleId)) {
      if (to === 'inactive') watched.holdsSinceMs = undefined;
      else watched.holdsSinceMs ??= atMs;
    }
    const name = this.#nameOf(accountId, subject);
    const observed = mode === 'observe' ? ' (observed only)' : '';
    const fires = from === 'firing' ? 'goes to its next stage' : 'fires';
    const what = { firing: fires, pending: 'is pending', inactive: 'ends' }[to];
    watched.events.push({
      atMs,
      kind: 'rule',
      words: `Rule ${ruleId} ${what} for ${name}${observed}.`,
      reason: sentence(words),
    });
  }

  #record(event: AuditEvent): void {
    const { accountId, kind, atMs, market, key, ruleId, words, order } = event;
    const watched = this.of(accountId);
    if (kind === 'intentOpened' && key !== undefined) watched.because.set(key, words);
    if (kind === 'placing' && order !== undefined) {
      if (event.reason === 'reduce') watched.reductions.add(order.clientOrderId);
      const because = watched.because.get(key ?? '');
      const rule = ruleId === undefined ? 'Standing stop' : `Rule ${ruleId}`;
      watched.reasons.set(order.clientOrderId, because === undefined ? `${rule}.` : `${rule}: ${because}.`);
    }
    const title = TITLES[kind];
    if (title === undefined) return;
    const where = market === undefined ? {} : { market };
    const as = kind === 'rejected' || kind === 'unknown' ? 'refusal' : 'decision';
    watched.events.push({ atMs, kind: as, ...where, words: `${title}: ${words}.` });
  }

  of(accountId: string): Watched {
    const watched = this.#accounts.get(accountId) ?? nothingSeen();
    this.#accounts.set(accountId, watched);
    return watched;
  }
}

function bandOf({ bands }: Watched, ruleId: string, subject: SubjectKey): OpenBand {
  const key = `${ruleId} ${subject}`;
  const band = bands.get(key) ?? { ruleId, subject, words: '', spans: [], open: undefined };
  bands.set(key, band);
  return band;
}

function open(band: OpenBand, fromMs: number, state: RuleState): void {
  close(band, fromMs);
  band.open = { fromMs, state };
}

function close(band: OpenBand, toMs: number): void {
  const { open: current } = band;
  if (current !== undefined && toMs > current.fromMs) band.spans.push({ ...current, toMs });
  band.open = undefined;
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
