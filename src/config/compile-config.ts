import type { z } from 'zod';
import type { DecimalString } from '../core/quantities/decimal.ts';
import type { AccountSettings } from '../core/quantities/settings.ts';
import { modeOf } from '../core/rules/rule-parts.ts';
import type { WrittenAccount } from './accounts.ts';
import { channelNames, compileChannels, hasValidName, readChannels } from './channels.ts';
import { actionDefaults, compileSettings, compileWatch, type Defaults } from './compile-account.ts';
import type { CompiledAccount, CompiledConfig } from './compiled-config.ts';
import { compileDepositLink } from './deposit-link.ts';
import { compileDigest } from './digest.ts';
import { checkNewLimits, compileExchange, type EgressSettings } from './exchange.ts';
import { compileNotify } from './notify.ts';
import { compileOperators } from './operators.ts';
import type { Path } from './problem.ts';
import { readAccounts } from './read-accounts.ts';
import { compileRedis } from './redis.ts';
import { ROOT_KEYS, type Section } from './root.ts';
import { compileRule } from './rules/compile-rule.ts';
import { readReferences, type UsedRules, useRules, warnOfUnusedRules } from './rules/used-rules.ts';
import { Secret } from './secret.ts';
import { resolved, resolveLines, type SecretContext } from './secrets.ts';
import { complain, readShape, unknownKey } from './shape/read.ts';
import { compileWeb } from './web.ts';
import { nodeAt, type YamlDocument } from './yaml/document.ts';
import { describeValue } from './yaml/value.ts';

/** A compiled config with the places of its values in the file. Required secrets that are missing are empty. */
export interface UncheckedConfig extends Omit<CompiledConfig, 'accounts' | 'checksum'> {
  readonly document: YamlDocument;
  /** By market or pattern; only used to judge steps. */
  readonly referencePrices: ReadonlyMap<string, DecimalString>;
  readonly accounts: readonly UncheckedAccount[];
}

/** `used` and `rules` have the same indices. */
export interface UncheckedAccount extends CompiledAccount, UsedRules {
  readonly path: Path;
  readonly written: WrittenAccount;
}

interface ConfigContext extends SecretContext {
  /** Whether accounts need their key of the exchange. */
  readonly needsKeys: boolean;
}

const ANY_LINK = { ticker: 'EUR', provider: 'any', byCard: false };
const ANY_HEARTBEAT = { url: 'https://heartbeat.invalid' };
const DAILY_STRESS = { at: '0 7 * * *' };
const DAILY_DIGEST = { at: '08:00' };
/** A stand-in with which no `cadence` of an account conflicts. */
const FITTING_CADENCE = { calm: '1h', alert: '50ms' };
const NO_SECRET = new Secret('');

/**
 * Reads every section and reference, and reports all mistakes. Everything readable is compiled, so that one mistake
 * does not hide another. Returns undefined if a section or an account could not be read.
 */
export function compileConfig(context: ConfigContext): UncheckedConfig | undefined {
  const { document } = context;
  if (!isConfigMapping(context)) return undefined;
  const broken = new Set<Section>();
  const read = <T>(section: Section, schema: z.ZodType<T>, instead: unknown = {}): T => {
    const found = readShape(schema, document, [section], context.report);
    if (found !== undefined) return found;
    // Continue with a valid stand-in to find further mistakes; the result is discarded.
    broken.add(section);
    return schema.parse(instead);
  };
  const mode = read('mode', ROOT_KEYS.mode, 'observe');
  const exchange = read('exchange', ROOT_KEYS.exchange, { baseUrls: ['https://exchange.invalid'] });
  const egress = read('egress', ROOT_KEYS.egress, { default: {} });
  const markets = read('markets', ROOT_KEYS.markets);
  const cadence = read('cadence', ROOT_KEYS.cadence, FITTING_CADENCE);
  const acting = read('acting', ROOT_KEYS.acting);
  checkNewLimits(context);
  checkCadence(cadence, ['cadence'], context);
  const notify = read('notify', ROOT_KEYS.notify);
  const web = read('web', ROOT_KEYS.web);
  const isWritten = (section: Section): boolean => nodeAt(document.root, [section]) !== undefined;
  const redis = isWritten('redis') && read('redis', ROOT_KEYS.redis);
  const stateDir = isWritten('stateDir') && read('stateDir', ROOT_KEYS.stateDir, '.');
  const depositLink = isWritten('depositLink') && read('depositLink', ROOT_KEYS.depositLink, ANY_LINK);
  const stress = isWritten('stress') && read('stress', ROOT_KEYS.stress, DAILY_STRESS);
  const digest = isWritten('digest') && read('digest', ROOT_KEYS.digest, DAILY_DIGEST);
  const heartbeat = isWritten('heartbeat') && read('heartbeat', ROOT_KEYS.heartbeat, ANY_HEARTBEAT);
  const channels = readChannels(context);
  if (channels?.every(({ written }) => written !== undefined) !== true) broken.add('channels');
  const names = channelNames(channels ?? []);
  // If the section or a name in it is wrong, references to channels cannot be checked.
  const knownNames = channels?.every(hasValidName) === true ? names : undefined;
  const references = readReferences(context, knownNames);
  const groups = broken.has('egress') ? undefined : new Set(Object.keys(egress));
  const listed = readAccounts(context, groups);
  const found = listed.map((entry) => ({ entry, used: useRules(entry, references, context) }));
  warnOfUnusedRules(listed, references, context);
  const defaults: Defaults = {
    mode,
    exchange,
    acting,
    approval: read('approval', ROOT_KEYS.approval),
    cadence,
    // Only `check` uses the reference price.
    markets: withoutPrices(markets),
    channels: names,
    depositLink: depositLink ? compileDepositLink(depositLink, ['depositLink'], context) : undefined,
  };
  const compiledExchange = compileExchange(exchange, context);
  const proxy = compiledExchange.proxy === undefined ? {} : { proxy: compiledExchange.proxy };
  const config: UncheckedConfig = {
    file: document.file,
    document,
    mode,
    insecure: read('insecure', ROOT_KEYS.insecure, []),
    exchange: compiledExchange,
    ...(redis ? { redis: compileRedis(redis, context) } : {}),
    ...(stateDir ? { stateDir: context.surroundings.resolvePath(document.file, stateDir) } : {}),
    egress: compileEgress(egress, proxy, context),
    markets: defaults.markets,
    referencePrices: new Map(
      Object.entries(markets).flatMap(([market, { referencePrice }]) =>
        referencePrice === undefined ? [] : [[market, referencePrice]],
      ),
    ),
    accounts: found.flatMap(({ entry: { account, path }, used }) =>
      account === undefined ? [] : [compileAccount({ path, written: account }, used, defaults, context)],
    ),
    channels: compileChannels(channels ?? [], context),
    notify: compileNotify(notify, web.publicUrl, knownNames, context),
    web: compileWeb(web, context),
    operators: compileOperators(read('operators', ROOT_KEYS.operators), context),
    audit: read('audit', ROOT_KEYS.audit),
    log: read('log', ROOT_KEYS.log),
    ...(heartbeat ? { heartbeat: resolved(heartbeat, ['heartbeat'], context) } : {}),
    ...(stress ? { stress } : {}),
    ...(digest ? { digest: compileDigest(digest, knownNames, context) } : {}),
  };
  return broken.size === 0 && config.accounts.length === listed.length ? config : undefined;
}

function withoutPrices(markets: z.output<typeof ROOT_KEYS.markets>): Defaults['markets'] {
  return Object.fromEntries(
    Object.entries(markets).map(([market, { referencePrice: _price, ...settings }]) => [market, settings]),
  );
}

/** An egress group without a proxy uses that of the exchange. */
function compileEgress(
  egress: z.output<typeof ROOT_KEYS.egress>,
  proxy: Pick<EgressSettings, 'proxy'>,
  context: SecretContext,
): Readonly<Record<string, EgressSettings>> {
  return Object.fromEntries(
    Object.entries(egress).map(([group, written]) => [
      group,
      { ...proxy, ...resolved(written, ['egress', group], context) },
    ]),
  );
}

function isConfigMapping({ document, report }: SecretContext): boolean {
  const { value } = document.root;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const message = `expected a config with the keys ${Object.keys(ROOT_KEYS).join(', ')}, got ${describeValue(value)}`;
    complain({ document, report }, [], 'wrong-value', message);
    return false;
  }
  for (const key of Object.keys(value)) {
    if (!Object.hasOwn(ROOT_KEYS, key)) report(unknownKey(document, [], key, Object.keys(ROOT_KEYS)));
  }
  return true;
}

function compileAccount(
  { path, written: account }: Pick<UncheckedAccount, 'path' | 'written'>,
  used: UsedRules,
  defaults: Defaults,
  context: ConfigContext,
): UncheckedAccount {
  const { withdrawalAllowList } = account.watch;
  const addresses =
    withdrawalAllowList &&
    resolveLines(withdrawalAllowList, [...path, 'watch', 'withdrawalAllowList'], context);
  const actions = actionDefaults(account, defaults);
  const rules = used.used.map(({ draft }) => compileRule(draft, actions));
  const ownLink =
    account.depositLink && compileDepositLink(account.depositLink, [...path, 'depositLink'], context);
  const depositLink = ownLink ?? defaults.depositLink;
  const { watch, denied } = compileWatch(account, rules, depositLink !== undefined);
  const isOffered =
    depositLink !== undefined && (ownLink !== undefined || watch.sources.includes('creditLine'));
  for (const { source, ruleId } of denied) {
    const message = `expected true, or no rule that needs it, got false although rule ${ruleId} needs it`;
    complain(context, [...path, 'watch', source], 'needs-reading', message);
  }
  const mode = account.mode ?? defaults.mode;
  const asks = rules.some((rule) => modeOf(rule, { mode }) === 'approve');
  const settings = compileSettings(account, { ...defaults, asks }, addresses);
  const { missing: _missing, ...lenient } = context;
  const keyContext = context.needsKeys ? context : lenient;
  const ownCadence = Object.keys(account.cadence).length > 0;
  if (ownCadence) checkCadence(settings.cadence, [...path, 'cadence'], context);
  return {
    id: account.id,
    apiKey: NO_SECRET,
    apiSecret: NO_SECRET,
    ...resolved({ apiKey: account.apiKey, apiSecret: account.apiSecret }, path, keyContext),
    settings,
    rules,
    watch,
    egress: account.egress,
    ...(account.nonceStart === undefined ? {} : { nonceStart: account.nonceStart }),
    ...(isOffered ? { depositLink } : {}),
    path,
    written: account,
    ...used,
  };
}

function checkCadence(
  { calmMs, alertMs }: AccountSettings['cadence'],
  path: Path,
  { document, report }: SecretContext,
): void {
  if (alertMs <= calmMs) return;
  const message = 'expected alert to be at most as long as calm, got a longer time';
  const at = nodeAt(document.root, [...path, 'alert']) === undefined ? path : [...path, 'alert'];
  complain({ document, report }, at, 'wrong-value', message);
}
