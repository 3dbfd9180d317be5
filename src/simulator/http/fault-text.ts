import { SimulatorError } from '../simulated-exchange.ts';
import { FAULT_KINDS } from './faults.ts';

const TARGET_KEYS = new Set(['endpoint', 'account', 'region']);
const OUTER_KEYS = new Set([
  'probability',
  'count',
  'skip',
  'fromMs',
  'untilMs',
  'afterMs',
  'forMs',
  'everyMs',
]);
/** Values that stay text even when they look like a number or a boolean. */
const TEXT_KEYS = new Set(['endpoint', 'account', 'field', 'message', 'connection', 'at', 'body']);

/**
 * A fault as one writes it on a command line: `kind,key=value,...`, for example
 * `lostReply,endpoint=stopLimit,probability=0.2,count=3`. The result still has to be validated.
 */
export function parseFaultText(text: string): unknown {
  const [kind = '', ...settings] = text.split(',');
  if (!Object.hasOwn(FAULT_KINDS, kind)) {
    const known = Object.keys(FAULT_KINDS).join(', ');
    throw new SimulatorError('invalid-input', `no fault ${JSON.stringify(kind)}; there are ${known}`);
  }
  const effect: Record<string, unknown> = { kind };
  const target: Record<string, unknown> = {};
  const outer: Record<string, unknown> = {};
  for (const setting of settings) {
    const equals = setting.indexOf('=');
    if (equals < 1) {
      throw new SimulatorError('invalid-input', `fault ${text}: ${JSON.stringify(setting)} is not key=value`);
    }
    const key = setting.slice(0, equals);
    const holder = TARGET_KEYS.has(key) ? target : OUTER_KEYS.has(key) ? outer : effect;
    holder[key] = valueOf(key, setting.slice(equals + 1));
  }
  return { effect, ...(Object.keys(target).length === 0 ? {} : { target }), ...outer };
}

function valueOf(key: string, text: string): unknown {
  if (TEXT_KEYS.has(key)) return text;
  if (text === 'true' || text === 'false') return text === 'true';
  const number = Number(text);
  return text === '' || Number.isNaN(number) ? text : number;
}
