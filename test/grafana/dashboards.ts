import { readdirSync, readFileSync } from 'node:fs';

/** The tested part of a dashboard's JSON. */
export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly tags: readonly string[];
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly Variable[] };
  readonly annotations: { readonly list: readonly { readonly name: string; readonly expr: string }[] };
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly targets?: readonly Target[];
  readonly panels?: readonly Panel[];
}

export interface Target {
  readonly refId: string;
  readonly expr: string;
  readonly legendFormat?: string;
  readonly format?: string;
  readonly instant?: boolean;
  readonly range?: boolean;
  readonly datasource?: { readonly uid: string };
}

export interface Variable {
  readonly name: string;
  readonly type: string;
  readonly query: string | { readonly query: string };
  readonly includeAll?: boolean;
  readonly multi?: boolean;
}

export const FOLDER = new URL('../../config/grafana/dashboards/', import.meta.url);

export const DASHBOARDS: readonly Dashboard[] = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.json'))
  .map((name) => JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as Dashboard);

/** Panels with queries, including those in rows. */
export function panelsOf(dashboard: Dashboard): readonly Panel[] {
  return dashboard.panels
    .flatMap((panel) => [panel, ...(panel.panels ?? [])])
    .filter(({ type }) => type !== 'row');
}

export function queryOf({ query }: Variable): string {
  return typeof query === 'string' ? query : query.query;
}
