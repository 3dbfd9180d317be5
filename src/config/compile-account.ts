import type { z } from 'zod';
import { findField, SOURCE_NAMES, type SourceName } from '../core/fields/field-catalogue.ts';
import type { AccountSettings, MarketSettings } from '../core/quantities/settings.ts';
import { marketLookup } from '../core/rules/filter.ts';
import type { Mode, RuleSpec } from '../core/rules/rule.ts';
import { actionsOf, comparisonsOf } from '../core/rules/rule-parts.ts';
import type { WrittenAccount } from './accounts.ts';
import type { actingSchema, approvalSchema, cadenceSchema } from './acting.ts';
import type { WatchSettings } from './compiled-config.ts';
import type { CompiledDepositLink } from './deposit-link.ts';
import type { exchangeSchema } from './exchange.ts';
import type { ActionDefaults } from './rules/compile-rule.ts';

/** Settings of the file that apply where an account has none. */
export interface Defaults {
  readonly mode: Mode;
  readonly exchange: z.output<typeof exchangeSchema>;
  readonly acting: z.output<typeof actingSchema>;
  readonly approval: z.output<typeof approvalSchema>;
  readonly cadence: z.output<typeof cadenceSchema>;
  readonly markets: Readonly<Record<string, MarketSettings>>;
  /** Names of all channels, including the log: a `notify` without names uses them. */
  readonly channels: readonly string[];
  readonly depositLink: CompiledDepositLink | undefined;
}

export function compileSettings(
  account: WrittenAccount,
  defaults: Defaults & { readonly asks: boolean },
  withdrawalAllowList: readonly string[] | undefined,
): AccountSettings {
  const { slippage: _slippage, protect: _protect, ...acting } = { ...defaults.acting, ...account.acting };
  const { cancel, hedge, overshoot, ...bounds } = acting;
  const { bothSign, ltvUnit, marginModel, nonceMode, ...exchange } = {
    ...defaults.exchange,
    ...account.exchange,
  };
  const { cancelCoversStops, lateArrivalMs, readLagMs } = exchange;
  // The audit hashes the settings, so their order must not change.
  return {
    accountId: account.id,
    mode: account.mode ?? defaults.mode,
    labels: account.labels,
    bothSign,
    ltvUnit,
    marginModel,
    ...(Object.keys(account.holdings).length === 0 ? {} : { holdings: account.holdings }),
    nonceMode,
    cancelCoversStops,
    cancel,
    hedge,
    overshoot,
    lateArrivalMs,
    readLagMs,
    ...bounds,
    ...(withdrawalAllowList === undefined ? {} : { withdrawalAllowList }),
    ...(defaults.asks ? { approval: { ...defaults.approval, ...account.approval } } : {}),
    cadence: { ...defaults.cadence, ...account.cadence },
    marketSettings: marketLookup(defaults.markets),
  };
}

/** Returns the defaults of action parameters for the account's rules. */
export function actionDefaults(account: WrittenAccount, defaults: Defaults): ActionDefaults {
  const protect = { ...defaults.acting.protect, ...account.acting.protect };
  return {
    slippageSteps: account.acting.slippage ?? defaults.acting.slippage,
    protectAt: protect.at,
    protectSlippage: protect.slippage,
    channels: defaults.channels,
  };
}

/**
 * Determines what to read for an account: the sources it asks for or its rules need. With a deposit link and a watched
 * credit line, transfers are read too, so that the deposit is seen.
 */
export function compileWatch(account: WrittenAccount, rules: readonly RuleSpec[], hasDepositLink: boolean) {
  const needed = new Map<SourceName, string>();
  for (const rule of rules) {
    for (const source of sourcesOf(rule)) if (!needed.has(source)) needed.set(source, rule.id);
  }
  const asked: Readonly<Record<SourceName, boolean | undefined>> = {
    positions: account.watch.positions,
    creditLine: account.watch.creditLine,
    mainBalance: account.watch.mainBalance === undefined ? undefined : true,
    transfers: account.watch.transfers,
    spotOrders: account.watch.spotOrders,
  };
  const balances = new Set([...(account.watch.mainBalance ?? []), ...rules.flatMap(balancesOf)]);
  const isRead = (source: SourceName): boolean => asked[source] ?? needed.has(source);
  const followsDeposits = hasDepositLink && isRead('creditLine') && asked.transfers !== false;
  const watch: WatchSettings = {
    sources: SOURCE_NAMES.filter((source) => isRead(source) || (source === 'transfers' && followsDeposits)),
    balances: [...balances].toSorted(),
  };
  return {
    watch,
    /** Sources that the account switches off although a rule needs them, with the id of that rule. */
    denied: SOURCE_NAMES.flatMap((source) => {
      const ruleId = needed.get(source);
      return asked[source] === false && ruleId !== undefined ? [{ source, ruleId }] : [];
    }),
  };
}

/** Returns the sources that must be read so that a rule can be judged and can act. */
function sourcesOf(rule: RuleSpec): ReadonlySet<SourceName> {
  const sources = new Set<SourceName>();
  if (rule.on === 'position') sources.add('positions');
  if (rule.on === 'creditLine') sources.add('creditLine');
  for (const { field, parameter } of comparisonsOf(rule.when)) {
    const source = parameter?.source ?? findField(rule.on, field)?.source;
    const known = SOURCE_NAMES.find((name) => name === source);
    const aboutReading = parameter?.source !== undefined || !ABOUT_ALL_READS.has(field);
    if (known !== undefined && aboutReading) sources.add(known);
  }
  if (actionsOf(rule).some(({ kind }) => kind === 'reduce' || kind === 'protect')) sources.add('positions');
  return sources;
}

/** Fields that are about all sources that are read, unless they name one. */
const ABOUT_ALL_READS: ReadonlySet<string> = new Set(['dataAge', 'recordsSetAside']);

/** Returns the tickers of the main balance that a rule uses. */
function balancesOf(rule: RuleSpec): readonly string[] {
  return [...comparisonsOf(rule.when)].flatMap(({ field, parameter }) =>
    field === 'mainBalance' && parameter?.asset !== undefined ? [parameter.asset] : [],
  );
}
