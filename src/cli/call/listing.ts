import { ENDPOINTS } from '../../app.ts';
import { type CliIo, paint, printJson, printLine } from '../io.ts';
import { tableLines } from '../table.ts';
import type { CallEndpoint } from './endpoint.ts';
import type { Parameter } from './parameters.ts';

/** What `call --list` prints: each endpoint with its path, what it changes, and its parameters. */
export function listEndpoints(io: CliIo, endpoints: readonly CallEndpoint[], asJson: boolean): void {
  if (asJson) {
    for (const endpoint of endpoints) printJson(io, described(endpoint));
    return;
  }
  endpoints.forEach((endpoint, index) => {
    const { method, path, section } = ENDPOINTS[endpoint.id];
    if (index > 0) printLine(io, '');
    printLine(io, `${paint(io, 'stdout', 'bold', endpoint.name)}  ${endpoint.summary}`);
    printLine(io, `  ${method} ${path} (specification ${section})`);
    printLine(io, `  ${effectOf(io, endpoint)}`);
    for (const line of parameterLines(io, endpoint)) printLine(io, `    ${line}`);
  });
}

/** One line per endpoint, for the help. */
export function endpointSummary(endpoints: readonly CallEndpoint[]): string {
  return endpoints
    .map(
      ({ name, summary, changes }) => `  ${name.padEnd(18)} ${changes === undefined ? ' ' : '*'} ${summary}`,
    )
    .join('\n');
}

function effectOf(io: CliIo, { changes, takesCustomer }: CallEndpoint): string {
  if (changes === undefined) return 'read: changes nothing';
  const customer = takesCustomer === true ? '; customer data from --customer-file' : '';
  return paint(io, 'stdout', 'yellow', `${changes}: asks first, or --yes${customer}`);
}

function parameterLines(io: CliIo, { parameters }: CallEndpoint): string[] {
  const rows = parameters.map((parameter) => [
    parameter.name,
    typeOf(parameter),
    parameter.required === true ? 'required' : '',
    [parameter.note, ...(parameter.aliases ?? []).map((alias) => `also ${alias}`)].join('; '),
  ]);
  const columns = ['parameter', 'type', 'needed', 'meaning'].map((title) => ({ title }));
  return rows.length === 0 ? [] : tableLines(io, { columns, rows });
}

function typeOf({ type, repeatable }: Parameter): string {
  return repeatable === true ? `${type.says}, repeatable` : type.says;
}

function described({ id, name, summary, changes, exposure, parameters }: CallEndpoint): object {
  const { method, path, section } = ENDPOINTS[id];
  return {
    name,
    method,
    path,
    section,
    summary,
    changes: changes ?? null,
    canOpenExposure: exposure !== undefined,
    parameters: parameters.map((parameter) => ({
      name: parameter.name,
      aliases: parameter.aliases ?? [],
      type: parameter.type.says,
      required: parameter.required === true,
      repeatable: parameter.repeatable === true,
      note: parameter.note,
    })),
  };
}
