import { CONDITION_KINDS } from '../model/market-condition.ts';
import { SimulatorError } from '../simulated-exchange.ts';
import { FAULT, FAULT_KINDS } from './faults.ts';

const { effect: _effect, target: TARGET, ...OUTER } = FAULT.shape;
/** Keys whose values stay text even if they look like a number or a boolean. */
const TEXT_KEYS = new Set(['endpoint', 'account', 'field', 'message', 'connection', 'at', 'body']);

/**
 * Parses a fault of the command line without validating it: `lostReply,endpoint=stopLimit,probability=0.2,count=3`.
 * @throws SimulatorError for an unknown kind or a setting that is not key=value
 */
export function parseFaultText(text: string): unknown {
  const { kind, settings } = settingsOf(text, 'fault', FAULT_KINDS);
  const effect: Record<string, unknown> = { kind };
  const target: Record<string, unknown> = {};
  const outer: Record<string, unknown> = {};
  for (const [key, value] of settings) {
    const isOfTarget = Object.hasOwn(TARGET.unwrap().shape, key);
    const holder = isOfTarget ? target : Object.hasOwn(OUTER, key) ? outer : effect;
    holder[key] = valueOf(key, value);
  }
  return { effect, ...(Object.keys(target).length === 0 ? {} : { target }), ...outer };
}

/** Parses a condition of a market in the same form: `depth,market=BTC_PERP,factor=0.02,afterMs=60000`. */
export function parseConditionText(text: string): unknown {
  const { kind, settings } = settingsOf(text, 'condition', CONDITION_KINDS);
  // Only times are numbers; amounts and prices stay text.
  const values = settings.map(
    ([key, value]) => [key, key.endsWith('Ms') ? valueOf(key, value) : value] as const,
  );
  return { kind, ...Object.fromEntries(values) };
}

function settingsOf(text: string, what: string, kinds: Readonly<Record<string, string>>) {
  const [kind = '', ...settings] = text.split(',');
  if (!Object.hasOwn(kinds, kind)) {
    const known = Object.keys(kinds).join(', ');
    throw new SimulatorError('invalid-input', `no ${what} ${JSON.stringify(kind)}; there are ${known}`);
  }
  const pairs = settings.map((setting) => {
    const equals = setting.indexOf('=');
    if (equals >= 1) return [setting.slice(0, equals), setting.slice(equals + 1)] as const;
    throw new SimulatorError('invalid-input', `${what} ${text}: ${JSON.stringify(setting)} is not key=value`);
  });
  return { kind, settings: pairs };
}

function valueOf(key: string, text: string): unknown {
  if (TEXT_KEYS.has(key)) return text;
  if (text === 'true' || text === 'false') return text === 'true';
  const number = Number(text);
  return text === '' || Number.isNaN(number) ? text : number;
}
