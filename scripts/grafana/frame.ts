import {
  AnnotationQueryBuilder,
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DATASOURCE, type Panel } from './panels.ts';

export const UIDS = {
  overview: 'breakwater-overview',
  account: 'breakwater-account',
  operations: 'breakwater-operations',
} as const;

export interface Variable {
  readonly name: string;
  readonly label: string;
  /** A query of label values. */
  readonly values: string;
  readonly description: string;
  /** Selects one value; without it, several or all. */
  readonly one?: true;
}

export const ACCOUNT: Variable = {
  name: 'account',
  label: 'Account',
  values: 'label_values(breakwater_account_enforcing, account)',
  description: 'Accounts of the config.',
};

export const MARKET: Variable = {
  name: 'market',
  label: 'Market',
  values: 'label_values(breakwater_position_notional{account=~"$account"}, market)',
  description: 'Markets in which the accounts have positions.',
};

export const INSTANCE: Variable = {
  name: 'instance',
  label: 'Process',
  values: 'label_values(breakwater_build_info, instance)',
  description: 'Breakwater processes.',
};

export interface Section {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export interface DashboardOptions {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly variables: readonly Variable[];
  readonly sections: readonly Section[];
  readonly from: string;
}

/** A dashboard with the common parts: data source, links to the other dashboards, marks where orders were sent. */
export function dashboardOf(options: DashboardOptions): Dashboard {
  const { uid, title, description, variables, sections, from } = options;
  const builder = new DashboardBuilder(title)
    .uid(uid)
    .description(description)
    .tags(['breakwater'])
    .timezone('browser')
    .tooltip(DashboardCursorSync.Crosshair)
    .time({ from, to: 'now' })
    .refresh('10s')
    .editable()
    .link(
      new DashboardLinkBuilder('Breakwater')
        .type(DashboardLinkType.Dashboards)
        .tags(['breakwater'])
        .keepTime(true),
    )
    .variables([datasource(), ...variables.map(variable)])
    .annotations([ordersSent()]);
  let id = 0;
  for (const section of sections) {
    builder.withRow(new RowBuilder(section.title).id(++id));
    for (const panel of section.panels) builder.withPanel(panel.id(++id));
  }
  return builder.build();
}

function datasource(): DatasourceVariableBuilder {
  return new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus');
}

function variable({ name, label, values, description, one }: Variable): QueryVariableBuilder {
  const builder = new QueryVariableBuilder(name)
    .label(label)
    .description(description)
    .datasource(DATASOURCE)
    .query({ qryType: 1, query: values, refId: 'PrometheusVariableQueryEditor-VariableQuery' })
    .definition(values)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.NaturalAsc);
  if (one === true) return builder.multi(false).includeAll(false);
  return builder
    .multi(true)
    .includeAll(true)
    .allValue('.*')
    .current({ selected: true, text: ['All'], value: ['$__all'] });
}

/** A vertical line where the exchange accepted an order or a cancel. */
function ordersSent(): AnnotationQueryBuilder {
  return new AnnotationQueryBuilder()
    .name('Orders and cancels')
    .datasource(DATASOURCE)
    .enable(true)
    .hide(false)
    .iconColor('purple')
    .expr('sum by (kind) (increase(breakwater_actions_total{outcome="accepted"}[$__rate_interval])) > 0')
    .titleFormat('{{kind}}')
    .textFormat('accepted by the exchange')
    .step('15s');
}
